//! Threads: finding them, who takes part, and keeping what changes.
//!
//! A thread that a message began has no rows as long as it is the only one: that message, whose id the thread has, says all
//! there is to say. Most threads stay so.

use quintet_storage::{Failure, Read, WriteTx};

use super::messages;
use super::model::{Message, Sender, Thread};
use super::tables::{PARTICIPANTS, ParticipantsRow, THREADS, ThreadRow};
use super::whereabouts::{delivery_of, is_from};
use crate::identity::{agents, mailboxes};
use crate::model::{AgentNo, MessageId, ThreadId, ThreadKey};

/// Messages of a thread, the newest, that are looked at for one that an agent wrote or has got.
const LOOKED_AT_MAX: usize = 64;

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

/// The names of those who take part, `most` at the most, and how many they are.
pub(crate) fn named(read: &impl Read, key: ThreadKey, most: usize) -> Result<(Vec<String>, usize), Failure> {
    let name = |no: &AgentNo| Ok(mailboxes::get(read, (key.0, *no))?.name);
    if let Some(ParticipantsRow(all)) = read.get(&PARTICIPANTS, &key)? {
        return Ok((all.iter().take(most).map(name).collect::<Result<_, Failure>>()?, all.len()));
    }
    let Some(message) = first_message(read, key)? else { return Ok((Vec::new(), 0)) };
    // It has the names of all: nobody is looked up of hundreds to whom it may have gone.
    let sender = if let Sender::Agent(_) = message.sender { Some(message.sender_name) } else { None };
    let got = message.recipients.into_iter().map(|(name, _)| name);
    let got = got.filter(|name| !name.contains('@') && sender.as_ref() != Some(name));
    let mut all: Vec<String> = sender.iter().cloned().chain(got).collect();
    let count = all.len();
    all.truncate(most);
    Ok((all, count))
}

/// Whether an agent takes part in a thread by now: it wrote or has got a message of it. Of what is held for it, or with the
/// thread, it knows nothing.
pub(crate) fn takes_part(read: &impl Read, key: ThreadKey, agent: AgentNo) -> Result<bool, Failure> {
    if participants(read, key)?.binary_search(&agent).is_err() {
        return Ok(false);
    }
    let own = (key.0, agent);
    let mailbox = mailboxes::get(read, own)?;
    // Where nothing is held, what went to it has arrived.
    if mailbox.held_count == 0 && find(read, key)?.is_none_or(|thread| thread.held_count == 0) {
        return Ok(true);
    }
    let ids = messages::of_thread(read, key, None, LOOKED_AT_MAX)?;
    // A send asks this in its transaction: what is older is not looked at, and one who was in it that long is believed.
    let is_all = ids.len() < LOOKED_AT_MAX;
    for id in ids {
        let message = messages::get(read, (key.0, id))?;
        if is_from(&message, agent) || delivery_of(read, own, &mailbox, (id, &message))?.is_some() {
            return Ok(true);
        }
    }
    Ok(!is_all)
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
