//! What has ended is kept for so many days, then it goes with everything that belongs to it.

use quintet_storage::{Failure, Read as _, Snapshot, Timestamp, WriteTx};
use uuid::Uuid;

use super::model::{Delivery, Outbox};
use super::tables::{BODIES, COUNTERS, DELIVERIES, DUE, Mark, OLD, indexes};
use crate::jobs::{Agenda, ByHour, Swept, hour_at_or_after, start_of_hour};

const HOURS: ByHour<(u32, Uuid, u8, u64), Mark> = ByHour { table: OLD, hour: |place| place.0, most: 200 };

/// The deliveries that have ended, by the first full hour at which they may go.
pub struct OldDeliveries;

impl Agenda for OldDeliveries {
    /// What ends today goes tomorrow at the earliest: before what has gone already nothing falls due again.
    type Place = (u32, Uuid, u8, u64);

    const NAME: &'static str = "platform.old_deliveries";
    const TAG: u16 = OLD.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Self::Place = (0, Uuid::nil(), 0, 0);

    fn next(&self, read: &Snapshot, from: Self::Place) -> Result<Option<Timestamp>, Failure> {
        HOURS.next(read, from)
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Self::Place) -> Result<Swept<Self::Place>, Failure> {
        HOURS.slice(tx, now, from, |tx, (_, tenant_id, service, id), Mark| {
            remove(tx, Outbox::of((tenant_id, service))?, id).map(drop)
        })
    }
}

/// Has a delivery that has ended go in its time.
pub(super) fn put_old(tx: &mut WriteTx<'_>, outbox: Outbox, delivery: &Delivery) -> Result<(), Failure> {
    let hour = old_hour(delivery);
    let (tenant_id, service, id) = outbox.place(delivery.id);
    tx.falls_due(OLD.spec().tag, start_of_hour(hour));
    tx.put(&OLD, &(hour, tenant_id, service, id), &Mark)
}

/// The first full hour at which it may go.
pub(super) fn old_hour(delivery: &Delivery) -> u32 {
    let ended_at = delivery.settled_at.unwrap_or(delivery.created_at);
    hour_at_or_after(ended_at.plus_seconds(i64::from(delivery.kept_days) * 86_400))
}

/// Takes a delivery away, and all that finds it. False if there is none.
pub(super) fn remove(tx: &mut WriteTx<'_>, outbox: Outbox, id: u64) -> Result<bool, Failure> {
    let place = outbox.place(id);
    let Some(row) = tx.get(&DELIVERIES, &place)? else { return Ok(false) };
    let delivery = row.into_delivery(id);
    let (tenant_id, service, _): (Uuid, u8, u64) = place;
    for (index, subject) in indexes(&delivery) {
        tx.delete(index, &(tenant_id, service, subject, id));
    }
    if delivery.end.is_none() {
        let mut counters = tx.get(&COUNTERS, &outbox.key())?.unwrap_or_default();
        counters.waits_no_more(&delivery);
        tx.put(&COUNTERS, &outbox.key(), &counters)?;
    } else {
        tx.delete(&OLD, &(old_hour(&delivery), tenant_id, service, id));
    }
    if let Some(at) = delivery.next_attempt_at {
        tx.delete(&DUE, &(at, tenant_id, service, id));
    }
    tx.delete(&BODIES, &place);
    tx.delete(&DELIVERIES, &place);
    Ok(true)
}
