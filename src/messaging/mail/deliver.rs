//! Deliveries: into an inbox, or held until the agent takes mail; and what is held, released (6-messaging.md, A).
//!
//! What is held keeps its order: as long as anything is held for an agent that takes mail again, what comes waits behind it.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Delivery, Role};
use super::tables::{DeliveryRow, HELD, HeldRow, INBOX, LATE, ORIGINS, PlaceRow};
use super::told::{Came, came};
use super::unread::mark_read;
use super::uses::{self, AUTOMATIC};
use super::{messages, threads};
use crate::acks;
use crate::due::{self, Due};
use crate::identity::{Availability, Mailbox, Priority, Standing, mailboxes};
use crate::model::{AgentKey, MessageId, ThreadId, packed};
use crate::wakes::TOPIC;

/// So much is released in one transaction.
const RELEASED_MAX: usize = 2_000;

/// What is delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    /// Which message.
    pub(crate) message: MessageId,
    /// Its thread.
    pub(crate) thread: ThreadId,
    /// As what.
    pub(crate) role: Role,
    /// How urgent it is.
    pub(crate) priority: Priority,
    /// Whether it comes later than it was sent: it was held.
    pub(crate) is_late: bool,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    /// It is in the inbox.
    Delivered,
    /// It is held, for what the agent has declared.
    Held(Standing),
}

/// Delivers to an agent, or holds.
pub(crate) fn deliver(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    parcel: Parcel,
) -> Result<Became, Failure> {
    let mut mailbox = mailboxes::get(tx, agent)?;
    deliver_into(tx, now, agent, &mut mailbox, parcel)
}

/// The same into a mailbox that was read in this transaction, and not changed since. It is kept.
pub(crate) fn deliver_into(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    mailbox: &mut Mailbox,
    parcel: Parcel,
) -> Result<Became, Failure> {
    if mailbox.standing.is_over(now) {
        come_online(tx, now, agent, mailbox)?;
    }
    let is_behind = mailbox.held_count > 0 && !mailbox.standing.is_withholding(now);
    if !is_behind && !mailbox.standing.holds(parcel.priority, now) {
        place(tx, now, agent, mailbox, parcel, 0)?;
        mailboxes::put(tx, agent, mailbox)?;
        // What comes late is told of with all that comes with it.
        if !parcel.is_late {
            came(tx, now, agent, mailbox, Came { message: parcel.message, seq: mailbox.last_seq, released: 0 })?;
        }
        return Ok(Became::Delivered);
    }
    mailbox.last_held += 1;
    mailbox.held_count = mailbox.held_count.saturating_add(1);
    let Parcel { message, thread, role, priority, .. } = parcel;
    let row = HeldRow { message, role, priority, thread: Some(thread) };
    tx.put(&HELD, &(agent.0, agent.1, mailbox.last_held), &row)?;
    mailboxes::put(tx, agent, mailbox)?;
    Ok(Became::Held(mailbox.standing.clone()))
}

/// Puts a delivery into the inbox; the caller keeps the mailbox.
fn place(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    mailbox: &mut Mailbox,
    parcel: Parcel,
    released: u32,
) -> Result<(), Failure> {
    mailbox.last_seq += 1;
    mailbox.unread_count += 1;
    let delivery = Delivery {
        message: parcel.message,
        role: parcel.role,
        arrived_at: now,
        released,
        read_at: None,
        acked_at: None,
        labels: late_labels(tx, agent, mailbox.last_seq, parcel)?,
    };
    tx.put(&INBOX, &(agent.0, agent.1, mailbox.last_seq), &DeliveryRow::of(delivery))?;
    // Where nothing was held, nothing was waited for.
    if parcel.is_late || mailbox.held_count > 0 {
        threads::arrived(tx, (agent.0, parcel.thread), agent.1)?;
    }
    if parcel.is_late {
        tx.put(&LATE, &(agent.0, agent.1, parcel.message), &PlaceRow(mailbox.last_seq))?;
    }
    tx.tells(TOPIC, packed(agent), mailbox.last_seq);
    Ok(())
}

/// The labels that the platform gives to what comes late; what comes at once gets them from whoever posts it.
fn late_labels(tx: &mut WriteTx<'_>, agent: AgentKey, seq: u64, parcel: Parcel) -> Result<Vec<String>, Failure> {
    let origin = if parcel.is_late { tx.get(&ORIGINS, &(agent.0, parcel.message))? } else { None };
    if !origin.is_some_and(|row| row.into_parts().0.is_automatic) {
        return Ok(Vec::new());
    }
    uses::add(tx, (agent, seq), AUTOMATIC)?;
    Ok(vec![AUTOMATIC.to_owned()])
}

/// The delivery at a place of an inbox.
pub(crate) fn find(read: &impl Read, agent: AgentKey, seq: u64) -> Result<Option<Delivery>, Failure> {
    Ok(read.get(&INBOX, &(agent.0, agent.1, seq))?.map(DeliveryRow::into_delivery))
}

/// Deliveries behind a place, `most` at the most.
pub(crate) fn after(read: &impl Read, agent: AgentKey, seq: u64, most: usize) -> Result<Vec<(u64, Delivery)>, Failure> {
    let scan = Scan::prefix(&(agent.0, agent.1)).after(&(agent.0, agent.1, seq)).limit(most);
    let rows = read.scan(&INBOX, scan)?;
    Ok(rows.into_iter().map(|((_, _, seq), row)| (seq, row.into_delivery())).collect())
}

/// Deliveries before a place, the newest first, `most` at the most; `None`: from the newest on.
pub(crate) fn before(
    read: &impl Read,
    agent: AgentKey,
    seq: Option<u64>,
    most: usize,
) -> Result<Vec<(u64, Delivery)>, Failure> {
    let scan = Scan::prefix(&(agent.0, agent.1)).newest_first().limit(most);
    let scan = seq.iter().fold(scan, |scan, seq| scan.after(&(agent.0, agent.1, *seq)));
    let rows = read.scan(&INBOX, scan)?;
    Ok(rows.into_iter().map(|((_, _, seq), row)| (seq, row.into_delivery())).collect())
}

/// Keeps what has changed of a delivery: read, acknowledged, labels.
pub(crate) fn put(tx: &mut WriteTx<'_>, agent: AgentKey, seq: u64, delivery: Delivery) -> Result<(), Failure> {
    tx.put(&INBOX, &(agent.0, agent.1, seq), &DeliveryRow::of(delivery))
}

/// Marks a delivery read. Again: nothing changes.
pub(crate) fn read(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    seq: u64,
) -> Result<Option<Delivery>, Failure> {
    let Some(mut delivery) = find(tx, agent, seq)? else { return Ok(None) };
    if delivery.read_at.is_some() {
        return Ok(Some(delivery));
    }
    let mut mailbox = mailboxes::get(tx, agent)?;
    mark_read(tx, agent, &mut mailbox, seq)?;
    mailboxes::put(tx, agent, &mailbox)?;
    delivery.read_at = Some(now);
    put(tx, agent, seq, delivery.clone())?;
    Ok(Some(delivery))
}

/// Marks a delivery acknowledged, and read with it. Again: nothing changes.
pub(crate) fn ack(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    seq: u64,
) -> Result<Option<Delivery>, Failure> {
    let Some(mut delivery) = read(tx, now, agent, seq)? else { return Ok(None) };
    if delivery.acked_at.is_none() {
        delivery.acked_at = Some(now);
        put(tx, agent, seq, delivery.clone())?;
        acks::settle(tx, agent, delivery.message)?;
    }
    Ok(Some(delivery))
}

/// Has an agent declare something: what is not held any more is released. Returns how much was.
pub(crate) fn declare(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    standing: Standing,
) -> Result<u32, Failure> {
    let mut mailbox = mailboxes::get(tx, agent)?;
    // What lies there is held by this, whether or not its time is over: where as much is held as before, nothing goes, and
    // what is held is not looked through. An earlier release that is not done yet goes on by what falls due.
    let before = mailbox.standing.holds_from();
    set_standing(tx, agent, &mut mailbox, standing)?;
    let released = if mailbox.standing.holds_from() < before { release(tx, now, agent, &mut mailbox)? } else { 0 };
    mailboxes::put(tx, agent, &mailbox)?;
    Ok(released)
}

/// Releases what is due: the agent's time is over, or an earlier release goes on. Returns how much was.
pub(crate) fn release_due(tx: &mut WriteTx<'_>, now: Timestamp, agent: AgentKey) -> Result<u32, Failure> {
    let Some(mut mailbox) = mailboxes::find(tx, agent)? else { return Ok(0) };
    let released = match mailbox.standing.is_over(now) {
        true => come_online(tx, now, agent, &mut mailbox)?,
        false => release(tx, now, agent, &mut mailbox)?,
    };
    mailboxes::put(tx, agent, &mailbox)?;
    Ok(released)
}

fn come_online(tx: &mut WriteTx<'_>, now: Timestamp, agent: AgentKey, mailbox: &mut Mailbox) -> Result<u32, Failure> {
    set_standing(tx, agent, mailbox, Standing::ONLINE)?;
    release(tx, now, agent, mailbox)
}

/// Sets what an agent has declared, with what falls due by it.
fn set_standing(
    tx: &mut WriteTx<'_>,
    agent: AgentKey,
    mailbox: &mut Mailbox,
    standing: Standing,
) -> Result<(), Failure> {
    if let Some(until) = mailbox.standing.until {
        due::clear(tx, until, Due::Release(agent));
    }
    if let (Some(until), true) = (standing.until, standing.availability != Availability::Online) {
        due::put(tx, until, Due::Release(agent))?;
    }
    mailbox.standing = standing;
    Ok(())
}

/// Releases what the agent's standing does not hold any more, in order; what is too much for one transaction goes on by what
/// falls due at once. The caller keeps the mailbox.
fn release(tx: &mut WriteTx<'_>, now: Timestamp, agent: AgentKey, mailbox: &mut Mailbox) -> Result<u32, Failure> {
    if mailbox.held_count == 0 {
        return Ok(0);
    }
    let all = Scan::prefix(&(agent.0, agent.1));
    // What stays lies between what goes; where all goes, no more is read than goes now.
    let scan = if mailbox.standing.is_withholding(now) { all } else { all.limit(RELEASED_MAX + 1) };
    let rows = tx.scan(&HELD, scan)?;
    let goes = |row: &HeldRow| !mailbox.standing.holds(row.priority, now);
    let going: Vec<_> = rows.into_iter().filter(|(_, row)| goes(row)).take(RELEASED_MAX + 1).collect();
    let released = u32::try_from(going.len().min(RELEASED_MAX)).unwrap_or(u32::MAX);
    if going.len() > RELEASED_MAX {
        due::put(tx, now, Due::Release(agent))?;
    }
    let mut last = None;
    for (key, HeldRow { message, role, priority, thread }) in going.into_iter().take(RELEASED_MAX) {
        tx.delete(&HELD, &key);
        last = Some(message);
        let thread = thread.map_or_else(|| Ok(messages::get(tx, (agent.0, message))?.thread), Ok::<_, Failure>)?;
        place(tx, now, agent, mailbox, Parcel { message, thread, role, priority, is_late: true }, released)?;
    }
    mailbox.held_count = mailbox.held_count.saturating_sub(released);
    if let Some(message) = last {
        came(tx, now, agent, mailbox, Came { message, seq: mailbox.last_seq, released })?;
    }
    Ok(released)
}
