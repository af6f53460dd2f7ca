//! What happens is told to whoever asked for it: one delivery for each, in the transaction of what happened.

use quintet_storage::{Failure, Read, WriteTx};
use uuid::Uuid;

use super::envelope::{Envelope, Event};
use super::model::Subscription;
use super::room::Webhooks;
use crate::deliveries::{NewDelivery, NewTarget, Target, WaitingMax, enqueue_all, waiting_for};

/// What the bodies of one event take in all, in bytes: each who is told has a copy, written in the transaction of what
/// happened. A thousand endpoints still get a kilobyte each.
const BYTES_OF_AN_EVENT_MAX: usize = 1 << 20;
/// The deliveries that may wait for an endpoint where it is told what happens: for one that takes nothing, as many as there are
/// in the time of all attempts, at nine events a second; for one that is merely behind, more than a tenant has at once. What is
/// more is given up at once.
const WAITING_MAX: WaitingMax = WaitingMax { of_failing: 20_000, of_any: 1_000_000 };
/// Those that may wait for it where there is to be another one beyond what happens: a test, a repetition, a notice.
pub(super) const ASKED_WAITING_MAX: u64 = 10_000;
/// Attempts at a delivery.
pub const ATTEMPTS_MAX: u32 = 5;

impl Webhooks {
    /// The endpoints of a tenant that ask for one of these events. Mostly nobody does: that costs one look at a hot row.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn listeners(&self, read: &impl Read, tenant_id: Uuid, events: u32) -> Result<Vec<Subscription>, Failure> {
        let mut endpoints = self.subscribed(read, tenant_id)?;
        endpoints.retain(|one| one.events & events != 0);
        Ok(endpoints)
    }

    /// Whether so little waits for a target that there may be more than what happens. Addresses that runs brought along are
    /// one target together.
    pub(super) fn has_room(&self, read: &impl Read, tenant_id: Uuid, target: Target) -> Result<bool, Failure> {
        Ok(waiting_for(read, self.outbox(tenant_id), target)? < ASKED_WAITING_MAX)
    }

    /// What is sent of an event to so many.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn envelope_for(&self, tx: &WriteTx<'_>, event: &Event, count: usize) -> Result<Envelope, Failure> {
        let bytes_max = (self.terms)(tx, event.tenant_id)?.body_bytes_max;
        let share = BYTES_OF_AN_EVENT_MAX / count.max(1);
        Ok(self.envelope(event, usize::try_from(bytes_max).unwrap_or(usize::MAX).min(share)))
    }

    /// The delivery of an event to a target, which is kept for so many days once it has ended.
    #[must_use]
    pub fn delivery_of<'e>(&self, event: &'e Event, target: NewTarget<'e>, kept_days: u64) -> NewDelivery<'e> {
        NewDelivery {
            outbox: self.outbox(event.tenant_id),
            target,
            event_id: event.event_id,
            event: &event.name,
            resource: &event.resource_id,
            attempts_max: ATTEMPTS_MAX,
            is_counted: true,
            redelivery_of: None,
            kept_days: u32::try_from(kept_days).unwrap_or(u32::MAX),
        }
    }

    /// Tells endpoints of an event, each by a delivery of its own; one for which [`WAITING_MAX`] wait gets one that is given up
    /// already.
    ///
    /// # Errors
    /// The store's failures.
    pub fn tell(
        &self,
        tx: &mut WriteTx<'_>,
        event: &Event,
        envelope: &Envelope,
        listeners: &[Subscription],
        kept_days: u64,
    ) -> Result<(), Failure> {
        let new = |one: &Subscription| self.delivery_of(event, NewTarget::Endpoint(one.endpoint_id), kept_days);
        let body = |id, new: &NewDelivery<'_>| match new.target {
            NewTarget::Endpoint(endpoint_id) => envelope.with_delivery(id, Some(endpoint_id)),
            NewTarget::Inline(..) => envelope.with_delivery(id, None),
        };
        let within = (self.outbox(event.tenant_id), WAITING_MAX);
        enqueue_all(tx, event.occurred_at, self, within, listeners.iter().map(new), body)
    }
}
