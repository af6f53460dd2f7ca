//! What tests see of mail that waits.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::tables::{EXPECTED, HELD, THREAD_HELD, THREAD_MESSAGES};
use crate::identity::Priority;
use crate::model::{AgentKey, AgentNo, Mark, MessageId, ThreadKey};

/// What is held for an agent, in its order.
pub(crate) fn held_for(read: &impl Read, agent: AgentKey) -> Result<Vec<(MessageId, Priority)>, Failure> {
    let rows = read.scan(&HELD, Scan::prefix(&(agent.0, agent.1)))?;
    Ok(rows.into_iter().map(|(_, row)| (row.message, row.priority)).collect())
}

/// What a thread holds, in its order.
pub(crate) fn held_by(read: &impl Read, thread: ThreadKey) -> Result<Vec<(AgentNo, MessageId)>, Failure> {
    let rows = read.scan(&THREAD_HELD, Scan::prefix(&(thread.0, thread.1)))?;
    Ok(rows.into_iter().map(|(_, row)| (row.agent, row.message)).collect())
}

/// Says that all of a thread is held from an agent.
pub(crate) fn expect(tx: &mut WriteTx<'_>, thread: ThreadKey, agent: AgentNo) -> Result<(), Failure> {
    tx.put(&EXPECTED, &(thread.0, thread.1, agent), &Mark)
}

/// Says that a message is in a thread.
pub(crate) fn mark_in_thread(tx: &mut WriteTx<'_>, thread: ThreadKey, message: MessageId) -> Result<(), Failure> {
    tx.put(&THREAD_MESSAGES, &(thread.0, thread.1, message), &Mark)
}
