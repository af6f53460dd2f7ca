//! Rows of workspaces: finding them, and keeping what changes.

use quintet_platform::access;
use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Counts, Status, Workspace};
use super::tables::{
    ACTIVATIONS, ActivationRow, COUNTS, CountsRow, WORKSPACES, WORKSPACES_BY_SLUG, WORKSPACES_BY_TENANT,
    WorkspaceNoRow, WorkspaceRow,
};
use crate::limits::Limit;
use crate::model::{Mark, WorkspaceNo};

/// A workspace.
pub(crate) fn find(read: &impl Read, no: WorkspaceNo) -> Result<Option<Workspace>, Failure> {
    Ok(read.get(&WORKSPACES, &no)?.map(|row| row.into_workspace(no)))
}

/// Whether a workspace serves now: one whose tenant is suspended does not either.
pub(crate) fn status(read: &impl Read, workspace: &Workspace) -> Result<Status, Failure> {
    match workspace.status {
        Status::Active if access::is_suspended(read, workspace.tenant_id)? => Ok(Status::Suspended),
        status => Ok(status),
    }
}

/// A workspace is put back into service.
pub(crate) fn note_activation(tx: &mut WriteTx<'_>, now: Timestamp, no: WorkspaceNo) -> Result<(), Failure> {
    tx.put(&ACTIVATIONS, &no, &ActivationRow(now))
}

/// When a workspace, or its tenant, was last put back into service: before that its agents could not be heard of. `None`: never.
pub(crate) fn activated_at(read: &impl Read, workspace: &Workspace) -> Result<Option<Timestamp>, Failure> {
    let own = read.get(&ACTIVATIONS, &workspace.no)?.map(|ActivationRow(at)| at);
    Ok(own.max(access::activated_at(read, workspace.tenant_id)?))
}

/// How much a limit is in a workspace now: who was let in may have seen another one.
pub(crate) fn limit(read: &impl Read, no: WorkspaceNo, limit: Limit) -> Result<u64, Failure> {
    Ok(find(read, no)?.map_or(limit.usual, |workspace| workspace.limit(limit)))
}

/// The workspace with this slug.
pub(crate) fn by_slug(read: &impl Read, slug: &str) -> Result<Option<Workspace>, Failure> {
    match read.get(&WORKSPACES_BY_SLUG, &slug.to_owned())? {
        Some(WorkspaceNoRow(no)) => find(read, no),
        None => Ok(None),
    }
}

/// Workspaces behind a number, `most` at the most.
pub(crate) fn list(read: &impl Read, after: WorkspaceNo, most: usize) -> Result<Vec<Workspace>, Failure> {
    let rows = read.scan(&WORKSPACES, Scan::all().after(&after).limit(most))?;
    Ok(rows.into_iter().map(|(no, row)| row.into_workspace(no)).collect())
}

/// The number that the next workspace gets.
pub(crate) fn next_no(read: &impl Read) -> Result<WorkspaceNo, Failure> {
    let last = read.scan(&WORKSPACES, Scan::all().newest_first().limit(1))?;
    Ok(WorkspaceNo(last.first().map_or(1, |(no, _)| no.0.saturating_add(1))))
}

/// Keeps a workspace, a new one as well.
pub(crate) fn put(tx: &mut WriteTx<'_>, workspace: &Workspace) -> Result<(), Failure> {
    tx.put(&WORKSPACES_BY_SLUG, &workspace.slug, &WorkspaceNoRow(workspace.no))?;
    tx.put(&WORKSPACES_BY_TENANT, &(workspace.tenant_id, workspace.no), &Mark)?;
    tx.put(&WORKSPACES, &workspace.no, &WorkspaceRow::of(workspace))
}

/// How many there are of what it has limits for.
pub(crate) fn counts(read: &impl Read, no: WorkspaceNo) -> Result<Counts, Failure> {
    Ok(read.get(&COUNTS, &no)?.map_or_else(Counts::default, CountsRow::into_counts))
}

/// Keeps the counts.
pub(crate) fn put_counts(tx: &mut WriteTx<'_>, no: WorkspaceNo, counts: Counts) -> Result<(), Failure> {
    tx.put(&COUNTS, &no, &CountsRow::of(counts))
}
