//! Workspaces: create, read, list.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Workspace, WorkspaceId};
use super::short_ids::take_short_id;
use super::tables::{ShortIdRow, WORKSPACE_SLUGS, WORKSPACES, WorkspaceRow, WorkspaceSlugRow};
use crate::audit::{self, Actor, Event};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::rows;

/// Creates a workspace.
#[derive(Clone, Debug)]
pub struct CreateWorkspace {
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
}

/// Creates a workspace.
///
/// # Errors
/// [`Refusal::Conflict`] if the tenant has the slug already.
pub fn create_workspace(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: CreateWorkspace,
) -> Result<Workspace, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let by_slug = (tenant_id, command.slug);
    if tx.contains(&WORKSPACE_SLUGS, &by_slug)? {
        return Err(Refusal::Conflict("a workspace with this slug exists").into());
    }
    let workspace_id = WorkspaceId(tx.new_id());
    let short_id = take_short_id(tx, tenant_id, workspace_id.0, &ShortIdRow::Workspace(workspace_id))?;
    tx.put(&WORKSPACE_SLUGS, &by_slug, &WorkspaceSlugRow { workspace_id })?;
    let row = WorkspaceRow { short_id, slug: by_slug.1, name: command.name, created_at: now };
    tx.put(&WORKSPACES, &(tenant_id, workspace_id), &row)?;
    audit::record(tx, now, actor, Event::about("workspace.create", "workspace", workspace_id.0))?;
    Ok(row.into_workspace(workspace_id))
}

/// One workspace.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_workspace(
    read: &impl Read,
    tenant_id: TenantId,
    workspace_id: WorkspaceId,
) -> Result<Workspace, Abort<Refusal>> {
    let row = read.get(&WORKSPACES, &(tenant_id, workspace_id))?.ok_or(Refusal::NotFound)?;
    Ok(row.into_workspace(workspace_id))
}

/// The tenant's workspaces behind `after`, oldest first; and whether there are more.
///
/// # Errors
/// Only the store's.
pub fn list_workspaces(
    read: &impl Read,
    tenant_id: TenantId,
    after: Option<WorkspaceId>,
    limit: usize,
) -> Result<(Vec<Workspace>, bool), Failure> {
    let mut scan = Scan::prefix(&(tenant_id,)).limit(limit + 1);
    if let Some(after) = after {
        scan = scan.after(&(tenant_id, after));
    }
    let rows = read.scan(&WORKSPACES, scan)?;
    let more = rows.len() > limit;
    let found = rows.into_iter().take(limit);
    Ok((found.map(|((_, workspace_id), row)| row.into_workspace(workspace_id)).collect(), more))
}

/// Looks at the tenant's workspaces, oldest first, for as long as `look` says so. Whether it came to the end.
///
/// # Errors
/// Only the store's.
pub fn each_workspace(
    read: &impl Read,
    tenant_id: TenantId,
    mut look: impl FnMut(Workspace) -> bool,
) -> Result<bool, Failure> {
    let all = || Scan::prefix(&(tenant_id,));
    rows::each_while(read, &WORKSPACES, all, |(_, workspace_id), row| Ok(look(row.into_workspace(workspace_id))))
}
