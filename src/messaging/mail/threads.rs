//! Threads: finding them, who takes part, and keeping what changes.
//!
//! A thread that a message began has no rows as long as it is the only one: that message, whose id the thread has, says all
//! there is to say. Most threads stay so.

use quintet_storage::{Failure, Read, WriteTx};

use super::messages;
use super::model::{Message, Sender, Thread};
use super::tables::{PARTICIPANTS, ParticipantsRow, THREADS, ThreadRow};
use crate::identity::agents;
use crate::model::{AgentNo, MessageId, ThreadId, ThreadKey};

/// A thread.
pub(crate) fn find(read: &impl Read, key: ThreadKey) -> Result<Option<Thread>, Failure> {
    match read.get(&THREADS, &key)? {
        Some(row) => Ok(Some(row.into_thread())),
        None => Ok(first_message(read, key)?.map(|message| Thread::of_one(&message))),
    }
}

/// Whether a message began the thread that it is in.
pub(super) fn is_first(thread: ThreadId, message: MessageId) -> bool {
    thread.0 == message.0
}

/// The message that began a thread. One that was told its id, as a reminder's is, has none.
fn first_message(read: &impl Read, (workspace, id): ThreadKey) -> Result<Option<Message>, Failure> {
    let message = messages::find(read, (workspace, MessageId(id.0)))?;
    Ok(message.filter(|message| message.thread == id))
}

/// Keeps a thread.
pub(super) fn put(tx: &mut WriteTx<'_>, key: ThreadKey, thread: &Thread) -> Result<(), Failure> {
    tx.put(&THREADS, &key, &ThreadRow::of(thread))
}

/// The agents that take part in a thread, by their numbers, in their order.
pub(crate) fn participants(read: &impl Read, key: ThreadKey) -> Result<Vec<AgentNo>, Failure> {
    if let Some(ParticipantsRow(all)) = read.get(&PARTICIPANTS, &key)? {
        return Ok(all);
    }
    let Some(message) = first_message(read, key)? else { return Ok(Vec::new()) };
    let sender = if let Sender::Agent(no) = message.sender { Some(no) } else { None };
    let mut all: Vec<AgentNo> = sender.into_iter().collect();
    // What has an `@` is an address outside.
    for (name, _) in message.recipients.iter().filter(|(name, _)| !name.contains('@')) {
        all.extend(agents::by_name(read, key.0, name)?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Whether an agent takes part in a thread.
pub(crate) fn takes_part(read: &impl Read, key: ThreadKey, agent: AgentNo) -> Result<bool, Failure> {
    Ok(participants(read, key)?.binary_search(&agent).is_ok())
}

/// These take part in a new thread that no message began.
pub(super) fn begin(
    tx: &mut WriteTx<'_>,
    key: ThreadKey,
    all: impl IntoIterator<Item = AgentNo>,
) -> Result<(), Failure> {
    let mut all: Vec<AgentNo> = all.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    tx.put(&PARTICIPANTS, &key, &ParticipantsRow(all))
}

/// These take part from now on.
pub(super) fn join(
    tx: &mut WriteTx<'_>,
    key: ThreadKey,
    more: impl IntoIterator<Item = AgentNo>,
) -> Result<(), Failure> {
    // What a message says of them is looked up once: each further one would have the writer do it again.
    let is_kept = tx.contains(&PARTICIPANTS, &key)?;
    let mut all = participants(tx, key)?;
    let before = all.len();
    for agent in more {
        if let Err(place) = all.binary_search(&agent) {
            all.insert(place, agent);
        }
    }
    if all.len() > before || !is_kept { tx.put(&PARTICIPANTS, &key, &ParticipantsRow(all)) } else { Ok(()) }
}
