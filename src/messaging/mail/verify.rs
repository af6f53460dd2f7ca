//! What contradicts itself in the rows of messages, deliveries and threads: all of it counted anew.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Scan};

use super::model::{Message, Role, Sender, Thread};
use super::tables::{
    EXPECTED, HELD, INBOX, MESSAGES, PARTICIPANTS, ParticipantsRow, SENT, SentRow, THREAD_HELD, THREAD_MESSAGES,
    THREADS, UNREAD, UnreadRow,
};
use super::{messages, threads, verify_indexes};
use crate::due::{self, Due};
use crate::identity::{agents, mailboxes};
use crate::model::{AgentKey, AgentNo, MessageId, MessageKey, ThreadKey, WorkspaceNo};
use crate::outbox;
use crate::rooms::ROOM_HISTORY;
use crate::usage::{Sent, day_of};

/// What was found of a mailbox.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    last_seq: u64,
    unread: BTreeSet<u64>,
    held: u32,
    last_held: u64,
    last_sent: u64,
    sent: u64,
}

/// What was found of a thread.
#[derive(Debug, Default)]
struct CountedThread {
    messages: u64,
    held: u32,
    last_held: u64,
}

/// Deliveries of each message, held ones too: to whom, as what.
type Delivered = HashMap<MessageKey, Vec<(AgentNo, Role)>>;

/// Calls of inbound endpoints that became messages, by agent and in the order of their ids.
pub(crate) type Calls = BTreeMap<AgentKey, Vec<MessageId>>;

/// Everything that does. What agents sent is added up in `sent`, and what came of calls in `calls`.
pub(crate) fn verify(
    read: &impl Read,
    (sent, calls): (&mut Sent, &mut Calls),
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let (mut boxes, mut delivered) = (BTreeMap::new(), Delivered::new());
    check_inboxes(read, &mut boxes, &mut delivered, findings)?;
    check_held(read, &mut boxes, &mut delivered, findings)?;
    let mut counted = count_threads(read, &mut delivered, findings)?;
    check_unread(read, &boxes, findings)?;
    check_sent(read, &mut boxes, findings)?;
    check_mailboxes(read, boxes, findings)?;
    check_threads(read, &mut counted, findings)?;
    check_threads_without_rows(read, counted, findings)?;
    check_messages(read, delivered, (sent, calls), findings)?;
    verify_indexes::verify(read, findings)?;
    check_rooms(read, findings)
}

fn check_inboxes(
    read: &impl Read,
    boxes: &mut BTreeMap<AgentKey, Counted>,
    delivered: &mut Delivered,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &INBOX, findings, |(workspace, agent, seq), row, findings| {
        let (delivery, counted) = (row.into_delivery(), boxes.entry((workspace, agent)).or_default());
        if seq != counted.last_seq + 1 {
            findings.push(format!("the inbox of {agent:?} has a gap before place {seq}"));
        }
        counted.last_seq = seq;
        if delivery.read_at.is_none() {
            counted.unread.insert(seq);
        }
        delivered.entry((workspace, delivery.message)).or_default().push((agent, delivery.role));
        if is_kept_back(read, workspace, delivery.message)? {
            findings.push(format!("the inbox of {agent:?} has at {seq} what its paused thread keeps back"));
        }
        Ok(())
    })
}

/// Whether a message must wait for its thread: it came while that is paused, and not from the platform.
fn is_kept_back(read: &impl Read, workspace: WorkspaceNo, message: MessageId) -> Result<bool, Failure> {
    let Some(found) = messages::find(read, (workspace, message))? else { return Ok(false) };
    let pause = threads::find(read, (workspace, found.thread))?.and_then(|thread| thread.pause);
    Ok(found.sender != Sender::System && pause.is_some_and(|pause| found.created_at > pause.since))
}

fn check_held(
    read: &impl Read,
    boxes: &mut BTreeMap<AgentKey, Counted>,
    delivered: &mut Delivered,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &HELD, findings, |(workspace, agent, number), row, findings| {
        let counted = boxes.entry((workspace, agent)).or_default();
        counted.held += 1;
        counted.last_held = number;
        delivered.entry((workspace, row.message)).or_default().push((agent, row.role));
        if is_kept_back(read, workspace, row.message)? {
            findings.push(format!("for {agent:?} is held what its paused thread keeps back"));
        }
        Ok(())
    })
}

fn count_threads(
    read: &impl Read,
    delivered: &mut Delivered,
    findings: &mut Vec<String>,
) -> Result<BTreeMap<ThreadKey, CountedThread>, Failure> {
    let mut counted: BTreeMap<ThreadKey, CountedThread> = BTreeMap::new();
    each(read, &MESSAGES, findings, |(workspace, message), row, _| {
        let thread = row.into_message().thread;
        if threads::is_first(thread, message) {
            counted.entry((workspace, thread)).or_default().messages += 1;
        }
        Ok(())
    })?;
    each(read, &THREAD_MESSAGES, findings, |(workspace, thread, message), _, findings| {
        if !threads::is_first(thread, message) {
            counted.entry((workspace, thread)).or_default().messages += 1;
        }
        if messages::find(read, (workspace, message))?.is_none_or(|found| found.thread != thread) {
            findings.push(format!("the thread {thread:?} names the message {message:?}, which is not in it"));
        }
        Ok(())
    })?;
    each(read, &THREAD_HELD, findings, |(workspace, thread, number), row, findings| {
        let counted = counted.entry((workspace, thread)).or_default();
        counted.held += 1;
        counted.last_held = number;
        delivered.entry((workspace, row.message)).or_default().push((row.agent, row.role));
        if messages::find(read, (workspace, row.message))?.is_none_or(|found| found.thread != thread) {
            findings.push(format!("the thread {thread:?} holds the message {:?}, which is not in it", row.message));
        }
        Ok(())
    })?;
    Ok(counted)
}

/// Stretches of unread places lie before the mailbox's own, and apart from each other.
fn check_unread(
    read: &impl Read,
    boxes: &BTreeMap<AgentKey, Counted>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut said: BTreeMap<AgentKey, BTreeSet<u64>> = BTreeMap::new();
    each(read, &UNREAD, findings, |(workspace, agent, first), UnreadRow(last), findings| {
        let mailbox = mailboxes::find(read, (workspace, agent))?;
        if first > last || mailbox.is_none_or(|mailbox| last >= mailbox.unread_from) {
            findings.push(format!("places {first} to {last} of the inbox of {agent:?} are no stretch of unread ones"));
            return Ok(());
        }
        let places = said.entry((workspace, agent)).or_default();
        for place in first..=last {
            if !places.insert(place) {
                findings.push(format!("place {place} of the inbox of {agent:?} is unread twice"));
            }
        }
        Ok(())
    })?;
    for (agent, counted) in boxes {
        let Some(mailbox) = mailboxes::find(read, *agent)? else { continue };
        let mut places = said.remove(agent).unwrap_or_default();
        places.extend(mailbox.unread_from..=mailbox.last_seq);
        if places != counted.unread {
            findings.push(format!("other places of the inbox of {agent:?} are unread than it says"));
        }
    }
    findings.extend(said.keys().map(|agent| format!("the inbox of {agent:?} has unread places and is empty")));
    Ok(())
}

fn check_sent(
    read: &impl Read,
    boxes: &mut BTreeMap<AgentKey, Counted>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &SENT, findings, |(workspace, agent, number), SentRow(message), findings| {
        let counted = boxes.entry((workspace, agent)).or_default();
        counted.sent += 1;
        counted.last_sent = number;
        let found = messages::find(read, (workspace, message))?;
        if found.is_none_or(|found| found.sender != Sender::Agent(agent)) {
            findings.push(format!("{agent:?} is said to have sent {message:?}, and has not"));
        }
        Ok(())
    })
}

fn check_mailboxes(
    read: &impl Read,
    boxes: BTreeMap<AgentKey, Counted>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    for (agent, counted) in boxes {
        let Some(mailbox) = mailboxes::find(read, agent)? else {
            findings.push(format!("there is mail of an agent {agent:?} that is not there"));
            continue;
        };
        let unread = u64::try_from(counted.unread.len()).unwrap_or(u64::MAX);
        let said = (mailbox.last_seq, mailbox.unread_count, mailbox.held_count, mailbox.last_sent);
        if said != (counted.last_seq, unread, counted.held, counted.sent) || counted.sent != counted.last_sent {
            findings.push(format!("the mailbox of {agent:?} says {said:?} and has {counted:?}"));
        }
        if mailbox.last_held < counted.last_held {
            findings.push(format!("the mailbox of {agent:?} holds what it has not counted"));
        }
    }
    Ok(())
}

/// What began with a message has rows only when another came.
fn check_threads_without_rows(
    read: &impl Read,
    counted: BTreeMap<ThreadKey, CountedThread>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    for (key, counted) in counted {
        match threads::find(read, key)? {
            Some(thread) => check_thread(key, &thread, &counted, findings),
            None => findings.push(format!("there are messages in a thread {key:?} that is not there")),
        }
    }
    Ok(())
}

fn check_thread(key: ThreadKey, thread: &Thread, counted: &CountedThread, findings: &mut Vec<String>) {
    let said = (thread.message_count, thread.held_count);
    if said != (counted.messages, counted.held) || thread.last_held < counted.last_held {
        findings.push(format!("the thread {key:?} says {said:?} and has {counted:?}"));
    }
}

fn check_threads(
    read: &impl Read,
    all: &mut BTreeMap<ThreadKey, CountedThread>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &THREADS, findings, |key, row, findings| {
        let (thread, counted) = (row.into_thread(), all.remove(&key).unwrap_or_default());
        check_thread(key, &thread, &counted, findings);
        if let Some(pause) = thread.pause
            && !due::is_put(read, pause.resumes_at, Due::Resume(key))?
        {
            findings.push(format!("the thread {key:?} never goes on by itself"));
        }
        if !thread.counted.is_sorted() {
            findings.push(format!("the thread {key:?} counts its messages in no order"));
        }
        Ok(())
    })?;
    each(read, &PARTICIPANTS, findings, |key, ParticipantsRow(all), findings| {
        if !all.is_sorted_by(|one, other| one < other) || threads::find(read, key)?.is_none() {
            findings.push(format!("the participants of {key:?} are in no order, or of no thread"));
        }
        Ok(())
    })?;
    each(read, &EXPECTED, findings, |(workspace, thread, agent), _, findings| {
        let (key, own) = ((workspace, thread), (workspace, agent));
        let is_any_held = mailboxes::find(read, own)?.is_some_and(|mailbox| mailbox.held_count > 0)
            || threads::find(read, key)?.is_some_and(|thread| thread.held_count > 0);
        if !is_any_held || threads::participants(read, key)?.binary_search(&agent).is_err() {
            findings.push(format!("{agent:?} is expected in {thread:?}, and nothing of it is held from him"));
        }
        Ok(())
    })
}

/// Each agent that a message went to has one delivery of it, or one that is held, and nobody else.
fn check_messages(
    read: &impl Read,
    mut delivered: Delivered,
    (sent, calls): (&mut Sent, &mut Calls),
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &MESSAGES, findings, |key, row, findings| {
        let message = row.into_message();
        let mut deliveries = delivered.remove(&key).unwrap_or_default();
        deliveries.sort_unstable();
        if deliveries != expected(read, key, &message)? {
            findings.push(format!("the message {key:?} went to {:?} and lies with {deliveries:?}", message.recipients));
        }
        let participants = threads::participants(read, (key.0, message.thread))?;
        let mut all = deliveries.iter().map(|(no, _)| *no).collect::<Vec<_>>();
        if let Sender::Agent(no) = message.sender {
            all.push(no);
            *sent.entry((key.0, day_of(message.created_at))).or_default() += 1;
        }
        if let Sender::Ingress(_) = message.sender {
            for (no, _) in &deliveries {
                calls.entry((key.0, *no)).or_default().push(key.1);
            }
        }
        if !all.iter().all(|no| participants.binary_search(no).is_ok()) {
            findings.push(format!("somebody has the message {key:?} who does not take part in its thread"));
        }
        let mark = (key.0, message.thread, key.1);
        if !threads::is_first(message.thread, key.1) && !read.contains(&THREAD_MESSAGES, &mark)? {
            findings.push(format!("the message {key:?} is missing from its thread"));
        }
        Ok(())
    })?;
    findings.extend(delivered.keys().map(|key| format!("somebody has a message {key:?} that is not there")));
    Ok(())
}

/// The agents that a message went to, by their numbers. What has an `@` is an address outside.
fn expected(read: &impl Read, key: MessageKey, message: &Message) -> Result<Vec<(AgentNo, Role)>, Failure> {
    let mut all = Vec::new();
    for (name, role) in message.recipients.iter().filter(|(name, _)| !name.contains('@')) {
        let no = agents::by_name(read, key.0, name)?;
        all.push((no.unwrap_or(AgentNo(0)), *role));
    }
    all.sort_unstable();
    Ok(all)
}

fn check_rooms(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &ROOM_HISTORY, findings, |(workspace, room, message), _, findings| {
        if messages::find(read, (workspace, message))?.is_none() {
            findings.push(format!("the room {room} names a message {message:?} that is not there"));
        }
        Ok(())
    })
}

/// Whether something is to be done for a mailbox or a thread that still releases what it held.
pub(crate) fn goes_on(read: &impl Read, due: Due) -> Result<bool, Failure> {
    match due {
        Due::Release(agent) => Ok(mailboxes::find(read, agent)?.is_some_and(|mailbox| mailbox.held_count > 0)),
        Due::Resume(key) => {
            let rows = read.scan(&THREAD_HELD, Scan::prefix(&(key.0, key.1)).limit(1))?;
            Ok(!rows.is_empty() || !outbox::held_by(read, key, 1)?.is_empty())
        }
        _ => Ok(false),
    }
}
