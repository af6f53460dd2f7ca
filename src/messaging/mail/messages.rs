//! Messages: finding them, and opening what they say.

use quintet_storage::large::{self, LargeValue};
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, WriteTx, decode_plain, encode_plain};

use super::model::{Contents, Kept, Message};
use super::tables::{MESSAGES, MessageRow, SENT, SentRow, THREAD_MESSAGES};
use crate::identity::Workspace;
use crate::model::{AgentKey, Mark, MessageId, MessageKey, ThreadKey, WorkspaceNo};
use crate::rooms::ROOM_HISTORY;

/// Contents up to this size lie in the message's own row (6-messaging.md, S1).
pub(crate) const HERE_BYTES_MAX: usize = 4 << 10;

/// A message.
pub(crate) fn find(read: &impl Read, key: MessageKey) -> Result<Option<Message>, Failure> {
    Ok(read.get(&MESSAGES, &key)?.map(MessageRow::into_message))
}

/// A message that a row names.
///
/// # Errors
/// There is none, which only damage can do.
pub(crate) fn get(read: &impl Read, key: MessageKey) -> Result<Message, Failure> {
    find(read, key)?.ok_or_else(|| Failure::Damaged(format!("a row names the message {key:?}, which is not there")))
}

/// Contents as bytes, before they are sealed.
pub(crate) fn encode(contents: &Contents) -> Result<Vec<u8>, Failure> {
    encode_plain(contents)
}

/// Seals contents for the row of a message.
pub(crate) fn seal_here(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    message: MessageId,
    contents: &[u8],
) -> Result<Kept, Failure> {
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    let sealed = seal::seal(tx, owner, &MESSAGES, &(workspace.no, message), contents);
    sealed.map(Kept::Here).map_err(unerased)
}

/// What a message says. Of an erased tenant's nothing can be read any more: it says nothing.
pub(crate) fn open(read: &impl Read, workspace: &Workspace, id: MessageId, kept: &Kept) -> Result<Contents, Failure> {
    match kept {
        Kept::Here(sealed) => {
            let owner = KeyOwner::Tenant(workspace.tenant_id);
            match seal::open(read, owner, &MESSAGES, &(workspace.no, id), sealed) {
                Ok(bytes) => decode_plain(&bytes),
                Err(Abort::Refused(Erased)) => Ok(Contents::default()),
                Err(Abort::Failed(failure)) => Err(failure),
            }
        }
        Kept::Large(value) => match whole(read, value)? {
            bytes if bytes.is_empty() => Ok(Contents::default()),
            bytes => decode_plain(&bytes),
        },
    }
}

/// All bytes of a large value; of an erased tenant's there are none.
pub(crate) fn whole(read: &impl Read, value: &LargeValue) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for index in 0.. {
        match large::read_chunk(read, value, index) {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(Abort::Refused(Erased)) => return Ok(Vec::new()),
            Err(Abort::Failed(failure)) => return Err(failure),
        }
    }
    Ok(bytes)
}

/// Who still has a key of an erased tenant is turned away before this.
pub(super) fn unerased(abort: Abort<Erased>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    }
}

/// The messages of a thread before one, the newest first, `most` at the most.
pub(crate) fn of_thread(
    read: &impl Read,
    thread: ThreadKey,
    before: Option<MessageId>,
    most: usize,
) -> Result<Vec<MessageId>, Failure> {
    let scan = Scan::prefix(&(thread.0, thread.1)).newest_first().limit(most);
    let scan = before.iter().fold(scan, |scan, before| scan.after(&(thread.0, thread.1, *before)));
    let rows = read.scan(&THREAD_MESSAGES, scan)?;
    let mut all: Vec<MessageId> = rows.into_iter().map(|((_, _, message), Mark)| message).collect();
    // The one that began the thread is the oldest, and has had no row of its own since threads of one message have none.
    let first = MessageId(thread.1.0);
    let is_behind = all.len() < most && all.last() != Some(&first) && before.is_none_or(|before| before > first);
    if is_behind && find(read, (thread.0, first))?.is_some_and(|message| message.thread == thread.1) {
        all.push(first);
    }
    Ok(all)
}

/// What an agent sent before a number, the newest first, `most` at the most; each with its number.
pub(crate) fn sent_by(
    read: &impl Read,
    agent: AgentKey,
    before: Option<u64>,
    most: usize,
) -> Result<Vec<(u64, MessageId)>, Failure> {
    let scan = Scan::prefix(&(agent.0, agent.1)).newest_first().limit(most);
    let scan = before.iter().fold(scan, |scan, before| scan.after(&(agent.0, agent.1, *before)));
    let rows = read.scan(&SENT, scan)?;
    Ok(rows.into_iter().map(|((_, _, number), SentRow(message))| (number, message)).collect())
}

/// What was sent to a room, the newest first, `most` at the most.
pub(crate) fn of_room(
    read: &impl Read,
    workspace: WorkspaceNo,
    room: &str,
    most: usize,
) -> Result<Vec<MessageId>, Failure> {
    let scan = Scan::prefix(&(workspace, room.to_owned())).newest_first().limit(most);
    let rows = read.scan(&ROOM_HISTORY, scan)?;
    Ok(rows.into_iter().map(|((_, _, message), Mark)| message).collect())
}

/// What was sent to a room from a message on, itself included, the oldest first, `most` at the most.
pub(crate) fn of_room_from(
    read: &impl Read,
    workspace: WorkspaceNo,
    room: &str,
    first: MessageId,
    most: usize,
) -> Result<Vec<MessageId>, Failure> {
    let scan = Scan::prefix(&(workspace, room.to_owned())).from(&(workspace, room.to_owned(), first)).limit(most);
    let rows = read.scan(&ROOM_HISTORY, scan)?;
    Ok(rows.into_iter().map(|((_, _, message), Mark)| message).collect())
}

/// What was uploaded for a message a moment ago is there, unless the clock was moved by more than its time meanwhile.
pub(super) fn unerased_upload(abort: Abort<large::UploadRefusal>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(_) => Failure::Busy,
    }
}
