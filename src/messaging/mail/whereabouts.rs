//! Where a message lies for an agent: the place of its delivery.
//!
//! No row leads from a message to its deliveries, for a send would write one for each. But instants rise with the places of
//! an inbox, and what came at once came at the message's own instant; what was held before has a row.

use quintet_storage::{Failure, Read, Timestamp};

use super::deliver;
use super::model::{Delivery, Message, Sender};
use super::tables::{LATE, PlaceRow};
use crate::identity::{Mailbox, mailboxes};
use crate::model::{AgentKey, AgentNo, MessageId};
use crate::rooms::is_member;

/// Deliveries of one instant that are read at a time.
const SLICE: usize = 128;
/// Of one instant so many are looked at: more than are released at once. There are more only where the clock was set back,
/// and instants do not move until it has caught up; what is behind them is found by its place alone.
const LOOKED_AT_MAX: usize = 4_096;

/// The delivery of a message to an agent, with its place; `None`: it has none, or none yet.
pub(crate) fn delivery_of(
    read: &impl Read,
    agent: AgentKey,
    mailbox: &Mailbox,
    (id, message): (MessageId, &Message),
) -> Result<Option<(u64, Delivery)>, Failure> {
    if !went_to(message, &mailbox.name) {
        return Ok(None);
    }
    if let Some(PlaceRow(seq)) = read.get(&LATE, &(agent.0, agent.1, id))? {
        return Ok(deliver::find(read, agent, seq)?.map(|delivery| (seq, delivery)));
    }
    let mut behind = first_at(read, agent, mailbox.last_seq, message.created_at)?.saturating_sub(1);
    for _ in 0..LOOKED_AT_MAX / SLICE {
        let rows = deliver::after(read, agent, behind, SLICE)?;
        let count = rows.len();
        for (seq, delivery) in rows {
            if delivery.arrived_at > message.created_at {
                return Ok(None);
            }
            if delivery.message == id {
                return Ok(Some((seq, delivery)));
            }
            behind = seq;
        }
        if count < SLICE {
            break;
        }
    }
    Ok(None)
}

/// The first place of an inbox whose delivery came at an instant or later; the one behind the last, if none did.
pub(crate) fn first_at(read: &impl Read, agent: AgentKey, last_seq: u64, at: Timestamp) -> Result<u64, Failure> {
    let (mut low, mut high) = (1, last_seq + 1);
    while low < high {
        let middle = low.midpoint(high);
        let came = deliver::find(read, agent, middle)?.map(|delivery| delivery.arrived_at);
        match came.ok_or_else(|| Failure::Damaged(format!("the inbox of {agent:?} lacks place {middle}")))? < at {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// Whether a message was addressed to an agent, by its name: it keeps that for good, and nobody else gets it.
pub(crate) fn went_to(message: &Message, name: &str) -> bool {
    message.recipients.iter().any(|(recipient, _)| recipient == name)
}

/// Whether an agent wrote a message.
pub(crate) fn is_from(message: &Message, agent: AgentNo) -> bool {
    message.sender == Sender::Agent(agent)
}

/// Whether an agent has got a message: what is held for it, or with its thread, it has not.
pub(crate) fn has_got(read: &impl Read, agent: AgentKey, message: (MessageId, &Message)) -> Result<bool, Failure> {
    let mailbox = mailboxes::get(read, agent)?;
    Ok(delivery_of(read, agent, &mailbox, message)?.is_some())
}

/// Whether a message concerns an agent: it sent it, has got it, or is in a room that it was sent to.
pub(crate) fn concerns(
    read: &impl Read,
    agent: AgentKey,
    (id, message): (MessageId, &Message),
) -> Result<bool, Failure> {
    if is_from(message, agent.1) || has_got(read, agent, (id, message))? {
        return Ok(true);
    }
    for room in message.to.iter().chain(&message.cc).filter_map(|typed| typed.strip_prefix("room:")) {
        if is_member(read, agent, room)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Priority;
    use crate::mail::deliver::{Parcel, deliver};
    use crate::mail::messages;
    use crate::mail::model::Role;
    use crate::testing::Bench;

    /// Under a clock that does not move, what came before costs no more than so much.
    #[test]
    fn of_one_instant_so_much_is_looked_at() {
        let bench = Bench::new();
        let (ann, _) = (bench.agent("ann"), bench.agent("ben"));
        let first = bench.post("ben", &["ann"], "first", |_| {});
        let many = |count: usize| {
            let verb = move |tx: &mut quintet_storage::WriteTx<'_>, now| {
                let (message, thread) = (first.message, first.thread);
                let parcel = Parcel { message, thread, role: Role::To, priority: Priority::Normal, is_late: false };
                Ok((0..count).try_for_each(|_| deliver(tx, now, ann, parcel).map(drop))?)
            };
            bench.run(verb).unwrap();
        };
        let seq = |id: MessageId| {
            let read = bench.context.store.read();
            let (mailbox, message) = (mailboxes::get(&read, ann).unwrap(), messages::get(&read, (ann.0, id)).unwrap());
            delivery_of(&read, ann, &mailbox, (id, &message)).unwrap().map(|(seq, _)| seq)
        };
        many(LOOKED_AT_MAX - 2);
        let last = bench.post("ben", &["ann"], "last", |_| {});
        let behind = bench.post("ben", &["ann"], "behind", |_| {});
        assert_eq!((seq(first.message), seq(last.message), seq(behind.message)), (Some(1), Some(4_096), None));
    }
}
