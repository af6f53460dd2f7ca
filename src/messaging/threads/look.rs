//! Which threads an agent has taken part in lately, and which messages of one it sees.

use std::collections::BTreeMap;

use quintet_storage::{Failure, Read};

use crate::identity::{Mailbox, Workspace, mailboxes};
use crate::mail::model::{Contents, Kept, Message, Thread};
use crate::mail::whereabouts::{delivery_of, is_from, went_to};
use crate::mail::{deliver, messages, threads};
use crate::model::{AgentKey, MessageId, ThreadId, ThreadKey};

/// Deliveries, and as many sent messages, that are looked at for the threads of an agent: what is older is not found.
const LOOKED_AT_MAX: usize = 2_000;
/// Messages of a thread that are looked at for one answer.
const THREAD_LOOKED_AT_MAX: usize = 2_000;
/// Rows read at a time.
const SLICE: usize = 100;
/// About the bytes of messages that one answer has.
const BYTES_MAX: u64 = 2 << 20;
/// About the bytes of a record without its text.
const RECORD_BYTES: u64 = 1 << 10;

/// A budget of bytes: what one answer may read. The first message always has room.
#[derive(Debug, Default)]
pub(super) struct Budget(u64);

impl Budget {
    /// Whether there is room for another.
    pub(super) fn has_room(&self) -> bool {
        self.0 <= BYTES_MAX
    }

    /// Counts a message.
    pub(super) fn take(&mut self, message: &Message, contents: &Contents) {
        let html = contents.html.as_ref().map_or(0, String::len);
        let payload = contents.payload.as_ref().map_or(0, String::len);
        let read = match &message.kept {
            Kept::Here(_) => 0,
            Kept::Large(value) => value.size_bytes,
        };
        self.0 += RECORD_BYTES + read.max((contents.text.len() + html + payload) as u64);
    }
}

/// An agent that looks at a thread.
pub(super) struct Onlooker {
    key: AgentKey,
    mailbox: Mailbox,
    /// Whether anything is held for it, or by the thread. Where nothing is, what went to it has arrived, and nobody need look
    /// for its place.
    is_any_held: bool,
}

impl Onlooker {
    /// An agent that looks at this thread.
    pub(super) fn new(read: &impl Read, key: AgentKey, thread: &Thread) -> Result<Onlooker, Failure> {
        let mailbox = mailboxes::get(read, key)?;
        let is_any_held = mailbox.held_count > 0 || thread.held_count > 0;
        Ok(Onlooker { key, mailbox, is_any_held })
    }

    /// Whether it has got or sent a message.
    fn sees(&self, read: &impl Read, (id, message): (MessageId, &Message)) -> Result<bool, Failure> {
        if is_from(message, self.key.1) {
            return Ok(true);
        }
        match self.is_any_held {
            true => delivery_of(read, self.key, &self.mailbox, (id, message)).map(|delivery| delivery.is_some()),
            false => Ok(went_to(message, &self.mailbox.name)),
        }
    }

    /// What a thread is about, as far as the agent knows: what the message that began it says, if it has got or sent that, or
    /// what the oldest says that is known here of those that it has.
    pub(super) fn subject(
        &self,
        read: &impl Read,
        (id, thread): (ThreadId, &Thread),
        oldest: Option<&str>,
    ) -> Result<String, Failure> {
        let first = MessageId(id.0);
        let began = messages::find(read, (self.key.0, first))?.filter(|message| message.thread == id);
        let began = began.map(|message| self.sees(read, (first, &message))).transpose()?;
        Ok(if began == Some(true) { thread.subject.clone() } else { oldest.unwrap_or_default().to_owned() })
    }
}

/// The threads of an agent with the newest activity first, as far as its newest deliveries and sent messages lead to them, each
/// with what the oldest of these is about. There is no list of them, for each send would have to keep it in order.
pub(super) fn latest(
    read: &impl Read,
    agent: AgentKey,
    limit: usize,
) -> Result<Vec<(ThreadId, Thread, String)>, Failure> {
    let mut found = BTreeMap::new();
    collect(read, agent, limit, &mut found, |before| {
        let rows = deliver::before(read, agent, before, SLICE)?;
        Ok(rows.into_iter().map(|(seq, delivery)| (seq, delivery.message)).collect())
    })?;
    let mut sent = BTreeMap::new();
    collect(read, agent, limit, &mut sent, |before| messages::sent_by(read, agent, before, SLICE))?;
    for (thread, message) in sent {
        found.entry(thread).and_modify(|known: &mut MessageId| *known = message.min(*known)).or_insert(message);
    }
    let threads = found
        .into_iter()
        .map(|(id, oldest)| Ok(threads::find(read, (agent.0, id))?.map(|thread| (id, thread, oldest))));
    let mut threads: Vec<(ThreadId, Thread, MessageId)> =
        threads.filter_map(Result::transpose).collect::<Result<_, Failure>>()?;
    threads.sort_by_key(|(id, thread, _)| std::cmp::Reverse((thread.last_message_at, *id)));
    threads.truncate(limit);
    let about = threads.into_iter().map(|(id, thread, oldest)| {
        let subject = messages::get(read, (agent.0, oldest))?.subject;
        Ok((id, thread, subject))
    });
    about.collect()
}

/// Goes back through messages until there are enough threads of them, or enough was looked at. Of each thread the oldest
/// message that it came to.
fn collect(
    read: &impl Read,
    agent: AgentKey,
    limit: usize,
    found: &mut BTreeMap<ThreadId, MessageId>,
    slice: impl Fn(Option<u64>) -> Result<Vec<(u64, MessageId)>, Failure>,
) -> Result<(), Failure> {
    let mut before = None;
    let mut looked_at = 0;
    while looked_at < LOOKED_AT_MAX {
        let rows = slice(before)?;
        let count = rows.len();
        for (place, id) in rows {
            found.insert(messages::get(read, (agent.0, id))?.thread, id);
            if found.len() == limit {
                return Ok(());
            }
            before = Some(place);
        }
        looked_at += count;
        if count < SLICE {
            return Ok(());
        }
    }
    Ok(())
}

/// Messages of a thread.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// They, the oldest first.
    pub(super) messages: Vec<(MessageId, Message, Contents)>,
    /// The ones before this are not among them; `None`: there are none.
    pub(super) before: Option<MessageId>,
}

/// The newest messages of a thread, before one if so, that an agent has got or sent.
pub(super) fn of_thread(
    read: &impl Read,
    workspace: &Workspace,
    thread: ThreadKey,
    onlooker: &Onlooker,
    (mut before, limit): (Option<MessageId>, usize),
) -> Result<Part, Failure> {
    let (mut part, mut budget, mut looked_at) = (Part::default(), Budget::default(), 0);
    'looking: loop {
        let ids = messages::of_thread(read, thread, before, SLICE)?;
        let is_last = ids.len() < SLICE;
        for id in ids {
            if part.messages.len() == limit || !budget.has_room() || looked_at == THREAD_LOOKED_AT_MAX {
                part.before = before;
                break 'looking;
            }
            looked_at += 1;
            before = Some(id);
            let message = messages::get(read, (thread.0, id))?;
            if onlooker.sees(read, (id, &message))? {
                let contents = messages::open(read, workspace, id, &message.kept)?;
                budget.take(&message, &contents);
                part.messages.push((id, message, contents));
            }
        }
        if is_last {
            break;
        }
    }
    part.messages.reverse();
    Ok(part)
}
