//! Who owes whom an acknowledgement: reading and keeping.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::model::Owed;
use super::tables::{AWAITED, OWED, OwedRow};
use crate::due::{self, Due};
use crate::model::{AgentKey, AgentNo, Mark, MessageId, WorkspaceNo};

/// What an agent owes for a message.
pub(crate) fn find(read: &impl Read, debtor: AgentKey, message: MessageId) -> Result<Option<Owed>, Failure> {
    Ok(read.get(&OWED, &(debtor.0, debtor.1, message))?.map(OwedRow::into_owed))
}

/// An agent owes an acknowledgement from now on.
pub(crate) fn owe(tx: &mut WriteTx<'_>, debtor: AgentKey, message: MessageId, owed: Owed) -> Result<(), Failure> {
    tx.put(&AWAITED, &(debtor.0, owed.sender, message, debtor.1), &Mark)?;
    due::put(tx, owed.looked_at, due(debtor, message))?;
    tx.put(&OWED, &(debtor.0, debtor.1, message), &OwedRow::of(owed))
}

/// What is owed was looked at, and is again: as it stands then. What fell due before is done.
pub(crate) fn put_off(tx: &mut WriteTx<'_>, debtor: AgentKey, message: MessageId, owed: Owed) -> Result<(), Failure> {
    due::put(tx, owed.looked_at, due(debtor, message))?;
    tx.put(&OWED, &(debtor.0, debtor.1, message), &OwedRow::of(owed))
}

/// An agent has acknowledged a message, if it had to, or need not any more.
pub(crate) fn settle(tx: &mut WriteTx<'_>, debtor: AgentKey, message: MessageId) -> Result<(), Failure> {
    let Some(owed) = find(tx, debtor, message)? else { return Ok(()) };
    due::clear(tx, owed.looked_at, due(debtor, message));
    forget(tx, debtor, message, &owed);
    Ok(())
}

/// Nothing is owed any more; what fell due is done.
pub(crate) fn forget(tx: &mut WriteTx<'_>, debtor: AgentKey, message: MessageId, owed: &Owed) {
    tx.delete(&OWED, &(debtor.0, debtor.1, message));
    tx.delete(&AWAITED, &(debtor.0, owed.sender, message, debtor.1));
}

/// What falls due of it.
pub(super) fn due(debtor: AgentKey, message: MessageId) -> Due {
    Due::Nag((debtor.0, debtor.1, message))
}

/// What an agent owes, the oldest message first, behind one if so, `most` at the most.
pub(crate) fn of_debtor(
    read: &impl Read,
    debtor: AgentKey,
    after: Option<MessageId>,
    most: usize,
) -> Result<Vec<(MessageId, Owed)>, Failure> {
    let scan = Scan::prefix(&(debtor.0, debtor.1)).limit(most);
    let scan = after.iter().fold(scan, |scan, after| scan.after(&(debtor.0, debtor.1, *after)));
    let rows = read.scan(&OWED, scan)?;
    Ok(rows.into_iter().map(|((_, _, message), row)| (message, row.into_owed())).collect())
}

/// What an agent is owed, the oldest message first, `most` at the most; each with who owes it.
pub(crate) fn of_sender(
    read: &impl Read,
    (workspace, sender): (WorkspaceNo, AgentNo),
    most: usize,
) -> Result<Vec<(AgentNo, MessageId, Owed)>, Failure> {
    let rows = read.scan(&AWAITED, Scan::prefix(&(workspace, sender)).limit(most))?;
    let found = rows.into_iter().map(|((_, _, message, debtor), Mark)| {
        Ok(find(read, (workspace, debtor), message)?.map(|owed| (debtor, message, owed)))
    });
    found.filter_map(Result::transpose).collect()
}
