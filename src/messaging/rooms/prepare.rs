//! What a transaction that makes a room has need of: how many there are, and that one more may be.

use quintet_platform::service::{failed, refusal_of};
use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::counts::{adopt, count, counted};
use super::members::{find, forget_empty};
use super::tables::{MembersRow, ROOMS};
use crate::context::Context;
use crate::dialect::WRITER_TIME;
use crate::identity::Workspace;
use crate::limits::WORKSPACE_ROOMS;
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;

/// Fewer rooms than these are counted in passing.
const FEW: usize = 50;
/// So many rooms that nobody is in go at once where there are as many as there may be.
const MADE_AT_ONCE: usize = 64;
/// So many are read at a time when they are looked for.
const SLICE: usize = 200;

/// Has there be a row that counts, and place for the room that is wanted, before a transaction has need of it. Where rooms of an
/// earlier version are many, they are counted in their turn, once; where there are as many as may be, and not the one that is
/// wanted, some that nobody is in any more go.
///
/// # Errors
/// The store's; too much waits for its turn.
pub(crate) async fn prepare(context: &Context, workspace: &Workspace, wanted: Option<&str>) -> Result<(), Refusal> {
    let (no, read) = (workspace.no, context.store.read());
    let is_ready = || -> Result<bool, Failure> {
        Ok(counted(&read, no)?.is_some() || read.scan(&ROOMS, Scan::prefix(&(no,)).limit(FEW))?.len() < FEW)
    };
    if is_ready().map_err(|failure| failed::<Refusal>(&failure))? {
        return make_room(context, workspace, wanted).await;
    }
    let count = context.lookers.take(workspace.tenant_id, move || count(&read, no)).await?;
    let count = count.map_err(|failure| failed::<Refusal>(&failure))?;
    let adopt = move |tx: &mut WriteTx<'_>, _| -> Result<(), Abort<Refusal>> { Ok(adopt(tx, no, count)?) };
    context.write(WRITER_TIME, adopt).await.map_err(refusal_of)?;
    make_room(context, workspace, wanted).await
}

/// Has some rooms go that nobody is in, if one is wanted and there are as many as there may be.
async fn make_room(context: &Context, workspace: &Workspace, wanted: Option<&str>) -> Result<(), Refusal> {
    let Some(wanted) = wanted else { return Ok(()) };
    let (no, read) = (workspace.no, context.store.read());
    let is_place = || -> Result<bool, Failure> {
        let count = counted(&read, no)?.unwrap_or_default();
        Ok(u64::from(count) < workspace.limit(WORKSPACE_ROOMS) || find(&read, no, wanted)?.is_some())
    };
    if is_place().map_err(|failure| failed::<Refusal>(&failure))? {
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

/// Up to `most` rooms that nobody is in, neither in the list nor on the way into it.
fn empty(read: &impl Read, workspace: WorkspaceNo, most: usize) -> Result<Vec<String>, Failure> {
    let (mut empty, mut after) = (Vec::new(), None);
    while empty.len() < most {
        let scan = Scan::prefix(&(workspace,)).limit(SLICE);
        let scan = after.iter().fold(scan, |scan, after| scan.after(after));
        let rows = read.scan(&ROOMS, scan)?;
        let is_last = rows.len() < SLICE;
        for (key, MembersRow(members)) in rows {
            if members.is_empty() && find(read, workspace, &key.1)?.is_none_or(|members| members.is_empty()) {
                empty.push(key.1.clone());
            }
            after = Some(key);
        }
        if is_last {
            break;
        }
    }
    empty.truncate(most);
    Ok(empty)
}
