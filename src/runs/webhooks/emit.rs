//! What happens is told to whoever asked for it: one delivery for each, in the transaction of what happened.

use quintet_platform::deliveries::{NewDelivery, NewTarget, enqueue};
use quintet_storage::{Failure, Read, WriteTx};

use super::endpoints::subscriptions;
use super::envelope::{Envelope, Event};
use super::model::{EndpointId, Subscription, outbox};
use crate::allowances::{Ceilings, quotas};
use crate::events::Events;
use crate::model::TenantId;

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
    // What a tenant has set was within the ceilings when it did.
    let bytes_max = quotas::numbers(tx, tenant_id, &Ceilings::default())?.max_webhook_payload_bytes;
    let envelope = Envelope::of(event, usize::try_from(bytes_max).unwrap_or(usize::MAX));
    let new = |target, url| NewDelivery {
        outbox: outbox(tenant_id),
        target,
        url,
        event_id: event.event_id,
        event: &event.name,
        resource: &event.resource_id,
        attempts_max: ATTEMPTS_MAX,
        is_counted: true,
        redelivery_of: None,
        kept_days: u32::try_from(kept_days).unwrap_or(u32::MAX),
    };
    for Subscription { endpoint_id, url, .. } in &listeners.endpoints {
        let new = new(NewTarget::Endpoint(endpoint_id.0), url.as_str());
        enqueue(tx, event.occurred_at, new, |id| envelope.with_delivery(id, Some(endpoint_id.0)))?;
    }
    match &listeners.inline {
        Some(Inline { url, key }) => {
            let new = new(NewTarget::Inline(key.as_deref()), url.as_str());
            enqueue(tx, event.occurred_at, new, |id| envelope.with_delivery(id, None))
        }
        None => Ok(None),
    }
}
