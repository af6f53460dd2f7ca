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
    loop {
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
            return Ok(None);
        }
    }
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
