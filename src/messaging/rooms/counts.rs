//! How many rooms a workspace has.

use quintet_platform::service::{failed, refusal_of};
use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::members::{empty, forget_empty};
use super::tables::{COUNTS, CountRow, ROOMS};
use crate::context::Context;
use crate::dialect::WRITER_TIME;
use crate::identity::{Workspace, workspaces};
use crate::limits::WORKSPACE_ROOMS;
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

/// So many rooms are read at a time.
const SLICE: usize = 500;
/// So many rooms that nobody is in go at once where there are as many as there may be.
const MADE_AT_ONCE: usize = 64;
/// Fewer than these are counted in passing.
const FEW: usize = 50;

/// How many rooms a workspace has; `None`: no row says so yet, for they are all of an earlier version. They stay as many
/// until there is one, for whoever makes or removes a room puts it.
pub(super) fn counted(read: &impl Read, workspace: WorkspaceNo) -> Result<Option<u32>, Failure> {
    Ok(read.get(&COUNTS, &workspace)?.map(|CountRow(count)| count))
}

/// Has there be a row that counts, and room for one more, before a transaction has need of it. Where rooms of an earlier version
/// are many, they are counted in their turn, once; where there are as many as may be, some that nobody is in any more go.
///
/// # Errors
/// The store's; too much waits for its turn.
pub(crate) async fn prepare(context: &Context, workspace: &Workspace) -> Result<(), Refusal> {
    let (no, read) = (workspace.no, context.store.read());
    let is_ready = || -> Result<bool, Failure> {
        Ok(counted(&read, no)?.is_some() || read.scan(&ROOMS, Scan::prefix(&(no,)).limit(FEW))?.len() < FEW)
    };
    if is_ready().map_err(|failure| failed::<Refusal>(&failure))? {
        return make_room(context, workspace).await;
    }
    let count = context.lookers.take(workspace.tenant_id, move || count(&read, no)).await?;
    let count = count.map_err(|failure| failed::<Refusal>(&failure))?;
    let adopt = move |tx: &mut WriteTx<'_>, _| -> Result<(), Abort<Refusal>> {
        if counted(tx, no)?.is_none() {
            tx.put(&COUNTS, &no, &CountRow(count))?;
        }
        Ok(())
    };
    context.write(WRITER_TIME, adopt).await.map_err(refusal_of)?;
    make_room(context, workspace).await
}

/// Has some rooms go that nobody is in, if there are as many as there may be.
async fn make_room(context: &Context, workspace: &Workspace) -> Result<(), Refusal> {
    let (no, read) = (workspace.no, context.store.read());
    let count = counted(&read, no).map_err(|failure| failed::<Refusal>(&failure))?.unwrap_or_default();
    if u64::from(count) < workspace.limit(WORKSPACE_ROOMS) {
        return Ok(());
    }
    let empty = context.lookers.take(workspace.tenant_id, move || empty(&read, no, MADE_AT_ONCE)).await?;
    let empty = empty.map_err(|failure| failed::<Refusal>(&failure))?;
    if empty.is_empty() {
        return Ok(());
    }
    let forget = move |tx: &mut WriteTx<'_>, _| -> Result<(), Abort<Refusal>> {
        empty.iter().try_for_each(|room| forget_empty(tx, no, room)).map_err(Abort::from)
    };
    context.write(WRITER_TIME, forget).await.map_err(refusal_of)
}

/// Counts the rooms of a workspace, one after the other.
fn count(read: &impl Read, workspace: WorkspaceNo) -> Result<u32, Failure> {
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

/// How many there are. What [`prepare`] has not counted are few, as a rule.
fn in_transaction(tx: &WriteTx<'_>, workspace: WorkspaceNo) -> Result<u32, Failure> {
    counted(tx, workspace)?.map_or_else(|| count(tx, workspace), Ok)
}
