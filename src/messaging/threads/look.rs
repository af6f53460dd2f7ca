//! Which threads an agent has taken part in lately, and which messages of one it sees.

use std::collections::BTreeSet;

use quintet_storage::{Failure, Read};

use crate::identity::{Workspace, mailboxes};
use crate::mail::model::{Contents, Kept, Message, Thread};
use crate::mail::whereabouts::{delivery_of, is_from, went_to};
use crate::mail::{deliver, messages, threads};
use crate::model::{AgentKey, AgentNo, MessageId, ThreadId, ThreadKey};

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

/// The threads of an agent with the newest activity first, as far as its newest deliveries and sent messages lead to them.
/// There is no list of them, for each send would have to keep it in order.
pub(super) fn latest(read: &impl Read, agent: AgentKey, limit: usize) -> Result<Vec<(ThreadId, Thread)>, Failure> {
    let mut found = BTreeSet::new();
    collect(read, agent, limit, &mut found, |before| {
        let rows = deliver::before(read, agent, before, SLICE)?;
        Ok(rows.into_iter().map(|(seq, delivery)| (seq, delivery.message)).collect())
    })?;
    let mut sent = BTreeSet::new();
    collect(read, agent, limit, &mut sent, |before| messages::sent_by(read, agent, before, SLICE))?;
    let keys = found.union(&sent);
    let threads = keys.map(|id| Ok(threads::find(read, (agent.0, *id))?.map(|thread| (*id, thread))));
    let mut threads: Vec<(ThreadId, Thread)> = threads.filter_map(Result::transpose).collect::<Result<_, Failure>>()?;
    threads.sort_by_key(|(id, thread)| std::cmp::Reverse((thread.last_message_at, *id)));
    threads.truncate(limit);
    Ok(threads)
}

/// Goes back through messages until there are enough threads of them, or enough was looked at.
fn collect(
    read: &impl Read,
    agent: AgentKey,
    limit: usize,
    found: &mut BTreeSet<ThreadId>,
    slice: impl Fn(Option<u64>) -> Result<Vec<(u64, MessageId)>, Failure>,
) -> Result<(), Failure> {
    let mut before = None;
    let mut looked_at = 0;
    while looked_at < LOOKED_AT_MAX {
        let rows = slice(before)?;
        let count = rows.len();
        for (place, id) in rows {
            found.insert(messages::get(read, (agent.0, id))?.thread);
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
    agent: AgentNo,
    (mut before, limit): (Option<MessageId>, usize),
) -> Result<Part, Failure> {
    let (mut part, mut budget, mut looked_at) = (Part::default(), Budget::default(), 0);
    let key = (thread.0, agent);
    let mailbox = mailboxes::get(read, key)?;
    let is_any_held =
        mailbox.held_count > 0 || threads::find(read, thread)?.is_some_and(|thread| thread.held_count > 0);
    // Where nothing is held, what went to the agent has arrived, and nobody need look for its place.
    let has_got = |id: MessageId, message: &Message| match is_any_held {
        true => delivery_of(read, key, &mailbox, (id, message)).map(|delivery| delivery.is_some()),
        false => Ok(went_to(message, &mailbox.name)),
    };
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
            if is_from(&message, agent) || has_got(id, &message)? {
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
