//! Enqueueing a delivery.

use http::Uri;
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read as _, Timestamp, WriteTx, encode_plain};
use uuid::Uuid;

use super::model::{Counters, Delivery, Outbox, Repeat, Target};
use super::tables::{
    BODIES, BodyRow, COUNTERS, Contents, DELIVERIES, DUE, DeliveryRow, DueRow, Mark, indexes, lane_of_authority,
};
use crate::egress::authority_of;

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
    let outbox_key = new.outbox.key();
    let mut counters = tx.get(&COUNTERS, &outbox_key)?.map_or_else(Counters::default, Counters::from);
    counters.last_id += 1;
    counters.pending += 1;
    let id = counters.last_id;
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
    let delivery = Delivery {
        id,
        target,
        event_id: new.event_id,
        event: new.event.to_owned(),
        resource: new.resource.to_owned(),
        url,
        attempts: 0,
        attempts_max: new.attempts_max,
        next_attempt_at: Some(now),
        last_status: None,
        last_error: None,
        created_at: now,
        settled_at: None,
        end: None,
        redelivery_of: new.redelivery_of,
        is_counted: new.is_counted,
        kept_days: new.kept_days,
        is_by_resource: true,
        repeat: Repeat::No,
    };
    tx.put(&COUNTERS, &outbox_key, &counters.into())?;
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
    put_due(tx, new.outbox, &delivery, now)?;
    Ok(Some(id))
}

/// Has an attempt fall due.
pub(super) fn put_due(tx: &mut WriteTx<'_>, outbox: Outbox, delivery: &Delivery, at: Timestamp) -> Result<(), Failure> {
    let (tenant_id, service, id) = outbox.place(delivery.id);
    tx.falls_due(DUE.spec().tag, at);
    tx.put(&DUE, &(at, tenant_id, service, id), &DueRow { lane: lane_of(delivery).into_bytes() })
}

/// The lane of a delivery: its endpoint's, or its authority's.
pub(super) fn lane_of(delivery: &Delivery) -> Uuid {
    match delivery.target {
        Target::Endpoint(id) => id,
        Target::Inline => {
            let uri = delivery.url.as_deref().and_then(|url| url.parse::<Uri>().ok());
            let authority = uri.and_then(|uri| authority_of(&uri));
            lane_of_authority(&authority.unwrap_or_default())
        }
    }
}
