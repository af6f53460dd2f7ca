//! What happens is told to whoever asked for it: one delivery for each, in the transaction of what happened.

use quintet_platform::deliveries::{NewTarget, enqueue};
use quintet_platform::webhooks::{Event, Subscription};
use quintet_storage::{Failure, Read, WriteTx};

use super::room::WEBHOOKS;
use crate::events::Events;
use crate::model::TenantId;

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
        Ok(Listeners { endpoints: WEBHOOKS.listeners(read, tenant_id.0, event.0)?, inline: None })
    }

    /// Nobody but the webhook that what happened to has in itself.
    pub(crate) fn only(inline: Inline) -> Listeners {
        Listeners { endpoints: Vec::new(), inline: Some(inline) }
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
    let count = listeners.endpoints.len() + usize::from(listeners.inline.is_some());
    let envelope = WEBHOOKS.envelope_for(tx, event, count)?;
    WEBHOOKS.tell(tx, event, &envelope, &listeners.endpoints, kept_days)?;
    match &listeners.inline {
        Some(Inline { url, key }) => {
            let new = WEBHOOKS.delivery_of(event, NewTarget::Inline(url, key.as_deref()), kept_days);
            enqueue(tx, event.occurred_at, new, |id| envelope.with_delivery(id, None))
        }
        None => Ok(None),
    }
}
