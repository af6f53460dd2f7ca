//! Rows of mailboxes.

use quintet_storage::{Failure, Read, WriteTx};

use super::model::Mailbox;
use super::tables::{MAILBOXES, MailboxRow};
use crate::model::AgentKey;

/// The mailbox of an agent.
pub(crate) fn find(read: &impl Read, key: AgentKey) -> Result<Option<Mailbox>, Failure> {
    Ok(read.get(&MAILBOXES, &key)?.map(MailboxRow::into_mailbox))
}

/// The mailbox of an agent that there is.
///
/// # Errors
/// There is none, which only damage can do.
pub(crate) fn get(read: &impl Read, key: AgentKey) -> Result<Mailbox, Failure> {
    find(read, key)?.ok_or_else(|| Failure::Damaged(format!("the agent {key:?} has no mailbox")))
}

/// Keeps a mailbox.
pub(crate) fn put(tx: &mut WriteTx<'_>, key: AgentKey, mailbox: &Mailbox) -> Result<(), Failure> {
    tx.put(&MAILBOXES, &key, &MailboxRow::of(mailbox))
}
