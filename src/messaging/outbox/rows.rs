//! Rows of mail that leaves: finding them, and keeping what changes with every index of it.

use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::model::{Outgoing, OutgoingKey, State};
use super::tables::{BY_THREAD, DUE, OLD, OLD_OUTGOING, OUTBOX, OutgoingRow};
use super::undeliverable::KEPT_SECONDS;
use crate::identity::Workspace;
use crate::model::{Mark, ThreadKey, WorkspaceNo};

/// A mail.
pub(crate) fn find(read: &impl Read, key: OutgoingKey) -> Result<Option<Outgoing>, Failure> {
    Ok(read.get(&OUTBOX, &key)?.map(OutgoingRow::into_outgoing))
}

/// Keeps a mail, a new one as well, and what finds it.
pub(crate) fn put(tx: &mut WriteTx<'_>, key: OutgoingKey, outgoing: Outgoing) -> Result<(), Failure> {
    if let Some(before) = find(tx, key)? {
        unlist(tx, key, before.state);
    }
    match outgoing.state {
        State::Due(at) => {
            tx.falls_due(DUE.spec().tag, at);
            tx.put(&DUE, &(at, key.0, key.1), &Mark)?;
        }
        State::Held(thread) => tx.put(&BY_THREAD, &(key.0, thread, key.1), &Mark)?,
        State::Done(at) => {
            let at = at.plus_seconds(KEPT_SECONDS);
            tx.falls_due(OLD.spec().tag, at);
            tx.put(&OLD, &(at, key.0, OLD_OUTGOING, key.1), &Mark)?;
        }
    }
    tx.put(&OUTBOX, &key, &OutgoingRow::of(outgoing))
}

/// A mail is forgotten.
pub(super) fn forget(tx: &mut WriteTx<'_>, key: OutgoingKey) -> Result<(), Failure> {
    if let Some(outgoing) = find(tx, key)? {
        unlist(tx, key, outgoing.state);
        tx.delete(&OUTBOX, &key);
    }
    Ok(())
}

fn unlist(tx: &mut WriteTx<'_>, key: OutgoingKey, state: State) {
    match state {
        State::Due(at) => tx.delete(&DUE, &(at, key.0, key.1)),
        State::Held(thread) => tx.delete(&BY_THREAD, &(key.0, thread, key.1)),
        State::Done(at) => tx.delete(&OLD, &(at.plus_seconds(KEPT_SECONDS), key.0, OLD_OUTGOING, key.1)),
    }
}

/// What is due from a place of the index on, in its order, `most` at the most.
pub(crate) fn due_from(
    read: &impl Read,
    from: (Timestamp, WorkspaceNo, Uuid),
    most: usize,
) -> Result<Vec<(Timestamp, OutgoingKey)>, Failure> {
    let rows = read.scan(&DUE, Scan::all().from(&from).limit(most))?;
    Ok(rows.into_iter().map(|((at, workspace, id), Mark)| (at, (workspace, id))).collect())
}

/// Mail that a paused thread holds, in the order in which it came, `most` at the most.
pub(crate) fn held_by(read: &impl Read, thread: ThreadKey, most: usize) -> Result<Vec<OutgoingKey>, Failure> {
    let rows = read.scan(&BY_THREAD, Scan::prefix(&(thread.0, thread.1)).limit(most))?;
    Ok(rows.into_iter().map(|((workspace, _, id), Mark)| (workspace, id)).collect())
}

/// How many mails wait to be sent; no more are counted than `most`.
pub(crate) fn counted(read: &impl Read, most: usize) -> Result<usize, Failure> {
    Ok(read.scan(&DUE, Scan::all().limit(most))?.len())
}

/// Seals what a note says.
#[allow(dead_code, reason = "as notes are enqueued")]
pub(super) fn seal_text(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    id: Uuid,
    text: &str,
) -> Result<Sealed, Abort<Erased>> {
    seal::seal(tx, KeyOwner::Tenant(workspace.tenant_id), &OUTBOX, &(workspace.no, id), text.as_bytes())
}

/// What a note says. `None`: its tenant has been erased.
pub(crate) fn note_text(
    read: &impl Read,
    workspace: &Workspace,
    id: Uuid,
    sealed: &Sealed,
) -> Result<Option<String>, Failure> {
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    match seal::open(read, owner, &OUTBOX, &(workspace.no, id), sealed) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
