//! Enqueueing a delivery.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read as _, Timestamp, WriteTx, encode_plain};
use uuid::Uuid;

use super::due::put_due;
use super::follow::follow;
use super::list::health_of;
use super::model::{Attempted, Delivery, End, LastError, Outbox, Repeat, Target, Verdict};
use super::old::put_old;
use super::room::DeliveryRoom;
use super::tables::{BODIES, BodyRow, COUNTERS, Contents, CountersRow, DELIVERIES, DeliveryRow, Mark, indexes};

/// What is sent and no longer than this stands in the delivery's own row, which every attempt writes anew.
const IN_ROW_BYTES_MAX: usize = 4096;

/// A delivery that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewDelivery<'a> {
    /// Whose.
    pub outbox: Outbox,
    /// Where it goes.
    pub target: NewTarget<'a>,
    /// The event it tells of.
    pub event_id: Uuid,
    /// Its type.
    pub event: &'a str,
    /// The id of what it happened to.
    pub resource: &'a str,
    /// Attempts in all, at least 1.
    pub attempts_max: u32,
    /// Whether its end counts for the health of its endpoint.
    pub is_counted: bool,
    /// The delivery that it repeats.
    pub redelivery_of: Option<u64>,
    /// How long it is kept once it has ended, in days.
    pub kept_days: u32,
}

/// Where a new delivery goes.
#[derive(Clone, Copy, Debug)]
pub enum NewTarget<'a> {
    /// To an endpoint that the room keeps.
    Endpoint(Uuid),
    /// To this address, signed with this key if there is one.
    Inline(&'a str, Option<&'a [u8]>),
}

/// Enqueues a delivery, whose first attempt is due at once; `body` is told its number and says what is sent. Its number, or
/// none if the tenant has been erased: what cannot be sealed is not kept.
///
/// # Errors
/// The store's failures.
pub fn enqueue(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    new: NewDelivery<'_>,
    body: impl FnOnce(u64) -> Vec<u8>,
) -> Result<Option<u64>, Failure> {
    let mut counters = tx.get(&COUNTERS, &new.outbox.key())?.unwrap_or_default();
    let enqueued = put_new(tx, now, &mut counters, new, body, Fate::Waits)?;
    if enqueued.is_some() {
        tx.put(&COUNTERS, &new.outbox.key(), &counters)?;
    }
    Ok(enqueued.map(|delivery| delivery.id))
}

/// The most deliveries that may wait for an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct WaitingMax {
    /// For one that has been failing for a while.
    pub of_failing: u64,
    /// For any other: what is merely behind gets all it is told.
    pub of_any: u64,
}

/// Enqueues deliveries of one outbox; `body` is told the number of each. What goes to an endpoint for which `most` wait already
/// is given up at once, with what follows from that: it can be sent once more like anything that was given up.
///
/// # Errors
/// The store's failures.
pub fn enqueue_all<'a>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    room: &dyn DeliveryRoom,
    (outbox, most): (Outbox, WaitingMax),
    all: impl IntoIterator<Item = NewDelivery<'a>>,
    body: impl Fn(u64, &NewDelivery<'a>) -> Vec<u8>,
) -> Result<(), Failure> {
    // Read and written once, however many are told.
    let mut counters = tx.get(&COUNTERS, &outbox.key())?.unwrap_or_default();
    let (before, mut given_up) = (counters.last_id, Vec::new());
    for new in all {
        let is_full = match new.target {
            NewTarget::Endpoint(id) => is_full(tx, now, outbox, id, counters.waiting_for(id), most)?,
            NewTarget::Inline(..) => false,
        };
        let fate = if is_full { Fate::GivenUp } else { Fate::Waits };
        match put_new(tx, now, &mut counters, NewDelivery { outbox, ..new }, |id| body(id, &new), fate)? {
            Some(delivery) if is_full => given_up.push(delivery),
            Some(_) => {}
            // The tenant has been erased.
            None => break,
        }
    }
    if counters.last_id > before {
        tx.put(&COUNTERS, &outbox.key(), &counters)?;
    }
    for delivery in given_up {
        let attempted = Attempted::Failed(LastError::TooMuchWaiting);
        follow(tx, now, room, outbox, &delivery, attempted, Verdict::Dead)?;
    }
    Ok(())
}

/// Whether no more is to wait for an endpoint than so much that does.
fn is_full(
    tx: &WriteTx<'_>,
    now: Timestamp,
    outbox: Outbox,
    endpoint_id: Uuid,
    waiting: u64,
    most: WaitingMax,
) -> Result<bool, Failure> {
    if waiting < most.of_failing {
        return Ok(false);
    }
    Ok(waiting >= most.of_any || health_of(tx, outbox, endpoint_id)?.is_failing(now))
}

/// What becomes of a new delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Its first attempt is due at once.
    Waits,
    /// Too much waits for its endpoint.
    GivenUp,
}

/// Writes a new delivery, and counts it; the counters are the caller's to write. None if the tenant has been erased.
fn put_new(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    counters: &mut CountersRow,
    new: NewDelivery<'_>,
    body: impl FnOnce(u64) -> Vec<u8>,
    fate: Fate,
) -> Result<Option<Delivery>, Failure> {
    let id = counters.last_id + 1;
    let place = new.outbox.place(id);
    let (target, url, key) = match new.target {
        NewTarget::Endpoint(id) => (Target::Endpoint(id), None, None),
        NewTarget::Inline(url, key) => (Target::Inline, Some(url.to_owned()), key.map(<[u8]>::to_vec)),
    };
    let contents = encode_plain(&Contents { key, body: body(id) })?;
    let sealed = match seal::seal(tx, KeyOwner::Tenant(new.outbox.tenant_id), &BODIES, &place, &contents) {
        Ok(sealed) => sealed,
        Err(Abort::Refused(Erased)) => return Ok(None),
        Err(Abort::Failed(failure)) => return Err(failure),
    };
    let waits = fate == Fate::Waits;
    let delivery = Delivery {
        id,
        target,
        event_id: new.event_id,
        event: new.event.to_owned(),
        resource: new.resource.to_owned(),
        url,
        attempts: 0,
        attempts_max: new.attempts_max,
        next_attempt_at: waits.then_some(now),
        last_status: None,
        last_error: (!waits).then_some(LastError::TooMuchWaiting),
        created_at: now,
        settled_at: (!waits).then_some(now),
        end: (!waits).then_some(End::Dead),
        redelivery_of: new.redelivery_of,
        is_counted: new.is_counted,
        kept_days: new.kept_days,
        is_by_resource: true,
        repeat: Repeat::No,
    };
    counters.last_id = id;
    for (index, subject) in indexes(&delivery) {
        tx.put(index, &(place.0, place.1, subject, id), &Mark)?;
    }
    let sealed = if contents.len() <= IN_ROW_BYTES_MAX {
        Some(sealed)
    } else {
        tx.put(&BODIES, &place, &BodyRow { sealed })?;
        None
    };
    tx.put(&DELIVERIES, &place, &DeliveryRow::new(&delivery, sealed))?;
    if waits {
        counters.waits(new.outbox, target);
        put_due(tx, new.outbox, &delivery, now)?;
    } else {
        if delivery.is_counted {
            counters.died();
        }
        put_old(tx, new.outbox, &delivery)?;
    }
    Ok(Some(delivery))
}
