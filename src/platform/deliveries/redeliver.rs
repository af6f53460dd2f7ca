//! Sending once more what has ended.

use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx, decode_plain};

use super::enqueue::{NewDelivery, NewTarget, enqueue};
use super::model::{Delivery, Outbox, Repeat, Target};
use super::tables::{BODIES, Contents, DELIVERIES, DeliveryRow};

/// Why a delivery is not sent once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRedelivered {
    /// There is none of this number, or nobody can read it any more.
    #[error("no such delivery")]
    NotFound,
    /// It has not ended.
    #[error("it has not ended")]
    NotTerminal,
}

impl quintet_storage::Refusal for NotRedelivered {}

/// Enqueues a delivery once more that has ended: the same event under a new number, attempts anew, and the old one says so.
/// `body` makes what is sent from what was sent and the new number. The new number.
///
/// # Errors
/// See [`NotRedelivered`].
pub fn redeliver(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    outbox: Outbox,
    id: u64,
    attempts_max: u32,
    body: impl FnOnce(&[u8], u64) -> Vec<u8>,
) -> Result<u64, Abort<NotRedelivered>> {
    let mut row = tx.get(&DELIVERIES, &outbox.place(id))?.ok_or(NotRedelivered::NotFound)?;
    let sealed = row.sealed.take();
    let delivery = row.into_delivery(id);
    if delivery.end.is_none() {
        return Err(NotRedelivered::NotTerminal.into());
    }
    let sent = contents(tx, outbox, id, sealed.clone())?.ok_or(NotRedelivered::NotFound)?;
    let target = match delivery.target {
        Target::Endpoint(id) => NewTarget::Endpoint(id),
        Target::Inline => NewTarget::Inline(delivery.url.as_deref().unwrap_or_default(), sent.key.as_deref()),
    };
    let new = NewDelivery {
        outbox,
        target,
        event_id: delivery.event_id,
        event: &delivery.event,
        resource: &delivery.resource,
        attempts_max,
        is_counted: delivery.is_counted,
        redelivery_of: Some(id),
        kept_days: delivery.kept_days,
    };
    let number = enqueue(tx, now, new, |number| body(&sent.body, number))?.ok_or(NotRedelivered::NotFound)?;
    let old = Delivery { repeat: Repeat::By(number), ..delivery };
    tx.put(&DELIVERIES, &outbox.place(id), &DeliveryRow::new(&old, sealed))?;
    Ok(number)
}

/// What is sealed of a delivery, in its own row or in that of its body; none if nobody can read it any more.
pub(super) fn contents(
    read: &impl Read,
    outbox: Outbox,
    id: u64,
    sealed: Option<Sealed>,
) -> Result<Option<Contents>, Failure> {
    let place = outbox.place(id);
    let sealed = match sealed {
        Some(sealed) => Some(sealed),
        None => read.get(&BODIES, &place)?.map(|row| row.sealed),
    };
    let Some(sealed) = sealed else { return Ok(None) };
    match seal::open(read, KeyOwner::Tenant(outbox.tenant_id), &BODIES, &place, &sealed) {
        Ok(plain) => Ok(Some(decode_plain(&plain)?)),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
