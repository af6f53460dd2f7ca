//! Mail is to leave: in the transaction of what it tells of.

use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::model::{Outgoing, OutgoingKey, State, What};
use super::rows::{put, seal_text};
use crate::identity::Workspace;
use crate::model::{MessageId, ThreadId, WorkspaceNo};

/// Words of the platform to somebody outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note<'a> {
    /// His address.
    pub(crate) to: &'a str,
    /// What they are about.
    pub(crate) subject: &'a str,
    /// The words. They may have a secret in them: they are sealed where they lie, and forgotten when they were sent.
    pub(crate) text: &'a str,
}

/// A message is to be sent to these addresses, at once.
pub(crate) fn enqueue(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (workspace, message, thread): (WorkspaceNo, MessageId, ThreadId),
    addresses: Vec<String>,
) -> Result<(), Failure> {
    put(tx, (workspace, message.0), Outgoing::new(now, What::Message(thread), addresses))
}

/// The same when its thread goes on, which is paused.
pub(crate) fn hold(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (workspace, message, thread): (WorkspaceNo, MessageId, ThreadId),
    addresses: Vec<String>,
) -> Result<(), Failure> {
    let outgoing = Outgoing::new(now, What::Message(thread), addresses);
    put(tx, (workspace, message.0), Outgoing { state: State::Held(thread), began_at: None, ..outgoing })
}

/// Words of the platform are to be sent. Nothing is, where the tenant has been erased.
pub(crate) fn enqueue_note(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    note: Note<'_>,
) -> Result<(), Failure> {
    let key: OutgoingKey = (workspace.no, tx.new_id());
    let text = match seal_text(tx, workspace, key.1, note.text) {
        Ok(sealed) => sealed,
        Err(Abort::Refused(_)) => return Ok(()),
        Err(Abort::Failed(failure)) => return Err(failure),
    };
    let what = What::Note { subject: note.subject.to_owned(), text: Some(text) };
    put(tx, key, Outgoing::new(now, what, vec![note.to.to_owned()]))
}
