//! Settling attempts: what came of them is written down, and what follows.

use quintet_storage::{Failure, Read as _, Timestamp, WriteTx};

use super::due::put_due;
use super::follow::follow;
use super::model::{Attempted, Delivery, End, Outbox, Repeat, Verdict, fault_of};
use super::old::put_old;
use super::room::DeliveryRoom;
use super::tables::{COUNTERS, DELIVERIES, DUE, DeliveryRow};

/// An attempt that has ended.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    pub(super) outbox: Outbox,
    pub(super) id: u64,
    /// Which attempt, from 1 on.
    pub(super) number: u32,
    /// Where it went.
    pub(super) url: Option<String>,
    pub(super) attempted: Attempted,
    /// See [`Policy::judge`](super::model::Policy::judge).
    pub(super) jitter_permille: i32,
}

/// Writes down what came of an attempt, if nobody has yet; what was made of it, and how old the delivery is, in
/// microseconds.
///
/// # Errors
/// The store's failures.
pub(super) fn settle(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    room: &dyn DeliveryRoom,
    finished: &Finished,
) -> Result<Option<(Verdict, i64)>, Failure> {
    let outbox = finished.outbox;
    let place = outbox.place(finished.id);
    let Some(mut row) = tx.get(&DELIVERIES, &place)? else { return Ok(None) };
    let sealed = row.sealed.take();
    let mut delivery = row.into_delivery(finished.id);
    if delivery.end.is_some() || delivery.attempts + 1 != finished.number {
        return Ok(None);
    }
    let attempted = finished.attempted;
    let policy = room.policy();
    let verdict = policy.judge(finished.number, delivery.attempts_max, attempted, finished.jitter_permille);
    if let Some(due_at) = delivery.next_attempt_at.take() {
        tx.delete(&DUE, &(due_at, place.0, place.1, place.2));
    }
    if finished.url.is_some() {
        delivery.url.clone_from(&finished.url);
    }
    if !matches!(attempted, Attempted::Undeliverable(_)) {
        delivery.attempts = finished.number;
        delivery.last_status = match attempted {
            Attempted::Answered { status, .. } => Some(status),
            _ => None,
        };
    }
    delivery.last_error = fault_of(attempted);
    match verdict {
        Verdict::Retry(micros) => {
            let at = now.plus_micros(micros);
            delivery.next_attempt_at = Some(at);
            put_due(tx, outbox, &delivery, at)?;
        }
        Verdict::Delivered => end(tx, now, outbox, &mut delivery, End::Delivered, true)?,
        Verdict::Dead => {
            let counts = delivery.is_counted && !matches!(attempted, Attempted::Undeliverable(_));
            end(tx, now, outbox, &mut delivery, End::Dead, counts)?;
        }
    }
    tx.put(&DELIVERIES, &place, &DeliveryRow::new(&delivery, sealed))?;
    follow(tx, now, room, outbox, &delivery, attempted, verdict)?;
    Ok(Some((verdict, now.micros_since(delivery.created_at))))
}

/// Ends a delivery; its row is the caller's to write.
fn end(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    outbox: Outbox,
    delivery: &mut Delivery,
    how: End,
    counts: bool,
) -> Result<(), Failure> {
    delivery.end = Some(how);
    delivery.settled_at = Some(now);
    put_old(tx, outbox, delivery)?;
    let mut counters = tx.get(&COUNTERS, &outbox.key())?.unwrap_or_default();
    counters.waits_no_more(delivery);
    if how == End::Dead && counts {
        counters.died();
    }
    if delivery.repeat == Repeat::Unsaid {
        // Nothing is sent once more before it has ended.
        delivery.repeat = Repeat::No;
    }
    tx.put(&COUNTERS, &outbox.key(), &counters)
}
