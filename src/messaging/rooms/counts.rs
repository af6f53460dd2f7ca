//! How many rooms a workspace has.

use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::tables::{COUNTS, CountRow, ROOMS};
use crate::identity::workspaces;
use crate::limits::WORKSPACE_ROOMS;
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

/// So many rooms are read at a time.
const SLICE: usize = 500;

/// How many rooms a workspace has; `None`: no row says so yet, for they are all of an earlier version. They stay as many
/// until there is one, for whoever makes or removes a room puts it.
pub(super) fn counted(read: &impl Read, workspace: WorkspaceNo) -> Result<Option<u32>, Failure> {
    Ok(read.get(&COUNTS, &workspace)?.map(|CountRow(count)| count))
}

/// Counts the rooms of a workspace, one after the other.
pub(super) fn count(read: &impl Read, workspace: WorkspaceNo) -> Result<u32, Failure> {
    let (mut count, mut after) = (0_u32, None);
    loop {
        let scan = Scan::prefix(&(workspace,)).limit(SLICE);
        let scan = after.iter().fold(scan, |scan, after| scan.after(after));
        let rows = read.scan(&ROOMS, scan)?;
        count = count.saturating_add(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        after = rows.last().map(|(key, _)| key.clone());
        if rows.len() < SLICE {
            return Ok(count);
        }
    }
}

/// Has a row say so from now on.
pub(super) fn adopt(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, count: u32) -> Result<(), Failure> {
    if counted(tx, workspace)?.is_some() { Ok(()) } else { tx.put(&COUNTS, &workspace, &CountRow(count)) }
}

/// Whether a workspace may have one more.
///
/// # Errors
/// It has as many as it may.
pub(super) fn check_room(tx: &mut WriteTx<'_>, workspace: WorkspaceNo) -> Result<(), Abort<Refusal>> {
    let max = workspaces::limit(tx, workspace, WORKSPACE_ROOMS)?;
    match u64::from(in_transaction(tx, workspace)?) < max {
        true => Ok(()),
        false => Err(Refusal::LimitReached(WORKSPACE_ROOMS.name, max).into()),
    }
}

/// A room was made.
pub(super) fn add(tx: &mut WriteTx<'_>, workspace: WorkspaceNo) -> Result<(), Failure> {
    let count = in_transaction(tx, workspace)?.saturating_add(1);
    tx.put(&COUNTS, &workspace, &CountRow(count))
}

/// A room is to go.
pub(super) fn take(tx: &mut WriteTx<'_>, workspace: WorkspaceNo) -> Result<(), Failure> {
    let count = in_transaction(tx, workspace)?.saturating_sub(1);
    tx.put(&COUNTS, &workspace, &CountRow(count))
}

/// How many there are. What [`prepare`](super::prepare::prepare) has not counted are few, as a rule.
fn in_transaction(tx: &WriteTx<'_>, workspace: WorkspaceNo) -> Result<u32, Failure> {
    counted(tx, workspace)?.map_or_else(|| count(tx, workspace), Ok)
}
