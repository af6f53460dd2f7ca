//! What happens is told to whoever asked for it: one delivery for each, in the transaction of what happened.

use quintet_platform::deliveries::{NewDelivery, NewTarget, counters, enqueue};
use quintet_storage::{Failure, Read, WriteTx};

use super::endpoints::subscriptions;
use super::envelope::{Envelope, Event};
use super::model::{EndpointId, Subscription, outbox};
use crate::allowances::quotas;
use crate::events::Events;
use crate::model::TenantId;

/// What the bodies of one event take in all, in bytes: each who is told has a copy, written in the transaction of what
/// happened. A thousand endpoints still get a kilobyte each.
const BYTES_OF_AN_EVENT_MAX: usize = 1 << 20;
/// The deliveries of a tenant that may wait where there is to be another one beyond what happens: a test, a repetition, a
/// notice.
pub(super) const ASKED_PENDING_MAX: u64 = 10_000;
/// Attempts at a delivery.
pub(super) const ATTEMPTS_MAX: u32 = 5;

/// The webhook that what happened to has in itself.
pub(crate) struct Inline {
    pub(crate) url: String,
    pub(crate) key: Option<Vec<u8>>,
}

/// Who is to be told of an event.
pub(crate) struct Listeners {
    endpoints: Vec<Subscription>,
    pub(crate) inline: Option<Inline>,
}

impl Listeners {
    /// The endpoints of a tenant that ask for an event.
    pub(crate) fn of(read: &impl Read, tenant_id: TenantId, event: Events) -> Result<Listeners, Failure> {
        let mut endpoints = subscriptions(read, tenant_id)?;
        endpoints.retain(|one| one.events.meets(event));
        Ok(Listeners { endpoints, inline: None })
    }

    /// Nobody but the webhook that what happened to has in itself.
    pub(crate) fn only(inline: Inline) -> Listeners {
        Listeners { endpoints: Vec::new(), inline: Some(inline) }
    }

    /// All but this one.
    pub(super) fn without(mut self, endpoint_id: EndpointId) -> Listeners {
        self.endpoints.retain(|one| one.endpoint_id != endpoint_id);
        self
    }

    /// Whether there is nobody.
    pub(crate) fn is_empty(&self) -> bool {
        self.endpoints.is_empty() && self.inline.is_none()
    }
}

/// Whether so little waits that there may be more than what happens.
pub(super) fn has_room(read: &impl Read, tenant_id: TenantId) -> Result<bool, Failure> {
    Ok(counters(read, outbox(tenant_id))?.pending <= ASKED_PENDING_MAX)
}

/// Tells all of them of an event, each by a delivery of its own that is kept for so many days once it has ended. The
/// number of the one to the webhook that what happened to has in itself, if it has one and the tenant was not erased.
///
/// # Errors
/// The store's failures.
pub(crate) fn emit(
    tx: &mut WriteTx<'_>,
    event: &Event,
    listeners: Listeners,
    kept_days: u64,
) -> Result<Option<u64>, Failure> {
    let tenant_id = event.tenant_id;
    let bytes_max = quotas::of_telling(tx, tenant_id)?.max_webhook_payload_bytes;
    let count = listeners.endpoints.len() + usize::from(listeners.inline.is_some());
    let share = BYTES_OF_AN_EVENT_MAX / count.max(1);
    let envelope = Envelope::of(event, usize::try_from(bytes_max).unwrap_or(usize::MAX).min(share));
    let new = |target| NewDelivery {
        outbox: outbox(tenant_id),
        target,
        event_id: event.event_id,
        event: &event.name,
        resource: &event.resource_id,
        attempts_max: ATTEMPTS_MAX,
        is_counted: true,
        redelivery_of: None,
        kept_days: u32::try_from(kept_days).unwrap_or(u32::MAX),
    };
    for Subscription { endpoint_id, .. } in &listeners.endpoints {
        let new = new(NewTarget::Endpoint(endpoint_id.0));
        enqueue(tx, event.occurred_at, new, |id| envelope.with_delivery(id, Some(endpoint_id.0)))?;
    }
    match &listeners.inline {
        Some(Inline { url, key }) => {
            let new = new(NewTarget::Inline(url, key.as_deref()));
            enqueue(tx, event.occurred_at, new, |id| envelope.with_delivery(id, None))
        }
        None => Ok(None),
    }
}
