//! What follows from an attempt that has been settled, and from a delivery that was given up before there was one.

use quintet_storage::{Failure, Read as _, Timestamp, WriteTx};

use super::health::Health;
use super::model::{Attempted, Delivery, Outbox, Target, Verdict};
use super::room::{DeliveryRoom, Settled};
use super::tables::HEALTH;

/// What follows for the endpoint.
///
/// # Errors
/// The store's failures.
pub(super) fn follow(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    room: &dyn DeliveryRoom,
    outbox: Outbox,
    delivery: &Delivery,
    attempted: Attempted,
    verdict: Verdict,
) -> Result<(), Failure> {
    let counts = delivery.is_counted && !matches!(attempted, Attempted::Undeliverable(_));
    let endpoint_id = match delivery.target {
        Target::Endpoint(id) if counts => id,
        _ => return room.settled(tx, now, &Settled { outbox, delivery, attempted, verdict, health: None }),
    };
    let health_key = (outbox.tenant_id, outbox.service.code(), endpoint_id);
    let before = tx.get(&HEALTH, &health_key)?.map_or_else(Health::default, Health::from);
    let mut after = before.clone();
    match verdict {
        Verdict::Delivered => after.delivered(now),
        Verdict::Retry(_) => after.failed(),
        Verdict::Dead => {
            after.failed();
            after.died(now);
        }
    }
    tx.put(&HEALTH, &health_key, &(&after).into())?;
    let health = Some((endpoint_id, &before, &after));
    room.settled(tx, now, &Settled { outbox, delivery, attempted, verdict, health })
}
