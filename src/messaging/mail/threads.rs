//! Threads: finding them, who takes part, and keeping what changes.
//!
//! A thread that a message began has no rows as long as it is the only one: that message, whose id the thread has, says all
//! there is to say. Most threads stay so.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::messages;
use super::model::{Message, Sender, Thread};
use super::tables::{EXPECTED, PARTICIPANTS, ParticipantsRow, THREADS, ThreadRow};
use crate::identity::{agents, mailboxes};
use crate::model::{AgentNo, Mark, MessageId, ThreadId, ThreadKey};

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

/// The agents that take part in a thread, or will when what is held reaches them, by their numbers, in their order.
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

/// The names of those who take part by now, `most` at the most, and how many they are.
pub(crate) fn named(read: &impl Read, key: ThreadKey, most: usize) -> Result<(Vec<String>, usize), Failure> {
    let name = |no: &AgentNo| Ok(mailboxes::get(read, (key.0, *no))?.name);
    let is_any_expected = !read.scan(&EXPECTED, Scan::prefix(&(key.0, key.1)).limit(1))?.is_empty();
    if is_any_expected || read.contains(&PARTICIPANTS, &key)? {
        let all = present(read, key)?;
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
    Ok(participants(read, key)?.binary_search(&agent).is_ok() && !read.contains(&EXPECTED, &(key.0, key.1, agent))?)
}

/// The agents that take part in a thread by now.
pub(super) fn present(read: &impl Read, key: ThreadKey) -> Result<Vec<AgentNo>, Failure> {
    let expected = read.scan(&EXPECTED, Scan::prefix(&(key.0, key.1)))?;
    let mut all = participants(read, key)?;
    all.retain(|no| expected.binary_search_by_key(no, |((_, _, agent), Mark)| *agent).is_err());
    Ok(all)
}

/// A participant takes part only when something of the thread has reached it: what came first is held.
pub(super) fn expect(tx: &mut WriteTx<'_>, key: ThreadKey, agent: AgentNo) -> Result<(), Failure> {
    tx.put(&EXPECTED, &(key.0, key.1, agent), &Mark)
}

/// Something of a thread has reached an agent.
pub(super) fn arrived(tx: &mut WriteTx<'_>, key: ThreadKey, agent: AgentNo) -> Result<(), Failure> {
    let place = (key.0, key.1, agent);
    if tx.contains(&EXPECTED, &place)? {
        tx.delete(&EXPECTED, &place);
    }
    Ok(())
}

/// These take part from now on, in a new thread that no message began or in one that there is; those of them who did not
/// before, `None`: all.
pub(super) fn enter(
    tx: &mut WriteTx<'_>,
    key: ThreadKey,
    more: impl IntoIterator<Item = AgentNo>,
    is_new: bool,
) -> Result<Option<Vec<AgentNo>>, Failure> {
    // What a message says of them is looked up once: each further one would have the writer do it again.
    let is_kept = !is_new && tx.contains(&PARTICIPANTS, &key)?;
    let mut all = if is_new { Vec::new() } else { participants(tx, key)? };
    let mut new = Vec::new();
    for agent in more {
        if let Err(place) = all.binary_search(&agent) {
            all.insert(place, agent);
            new.push(agent);
        }
    }
    if !new.is_empty() || !is_kept {
        tx.put(&PARTICIPANTS, &key, &ParticipantsRow(all))?;
    }
    Ok(if is_new { None } else { Some(new) })
}
