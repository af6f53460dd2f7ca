//! What a tenant does with its endpoints and its deliveries.

use quintet_storage::{Abort, Timestamp, WriteTx};
use uuid::Uuid;

use super::envelope::{Event, renumbered};
use super::model::{DisabledReason, Endpoint, EndpointChange, EndpointKey, NewEndpoint, TEST};
use super::room::Webhooks;
use super::tell::{ASKED_WAITING_MAX, ATTEMPTS_MAX};
use crate::deliveries::{
    Delivery, NewDelivery, NewTarget, NotRedelivered, Target, enqueue, find as find_delivery,
    redeliver as enqueue_again, reset_health,
};
use crate::json::Json;

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// There is no such endpoint.
    #[error("no such webhook endpoint in this tenant")]
    NoEndpoint,
    /// There is no such delivery.
    #[error("no such delivery in this tenant")]
    NoDelivery,
    /// The endpoint must be enabled before.
    #[error("the endpoint is inactive")]
    Inactive,
    /// The delivery is still under way.
    #[error("the delivery has not ended")]
    NotEnded,
    /// The tenant has so many endpoints, and may have no more.
    #[error("there are {0} endpoints already, which is the most")]
    Full(u64),
    /// So many deliveries wait for its endpoint, and there may be no more beyond what happens.
    #[error("{0} deliveries wait for the endpoint")]
    Crowded(u64),
    /// What is wrong with one of several deliveries.
    #[error("delivery {0}: {1}")]
    Of(u64, Box<NotDone>),
}

impl quintet_storage::Refusal for NotDone {}

impl NotDone {
    /// Whether it is because there is no such thing.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        match self {
            NotDone::NoEndpoint | NotDone::NoDelivery => true,
            NotDone::Of(_, what) => what.is_absence(),
            NotDone::Inactive | NotDone::NotEnded | NotDone::Full(_) | NotDone::Crowded(_) => false,
        }
    }
}

impl Webhooks {
    /// Makes an endpoint, where there may be so many.
    ///
    /// # Errors
    /// [`NotDone::Full`]
    pub fn create(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        tenant_id: Uuid,
        endpoints_max: u64,
        new: NewEndpoint,
    ) -> Result<(Uuid, Endpoint), Abort<NotDone>> {
        let count = u64::try_from(self.all(tx, tenant_id)?.len()).unwrap_or(u64::MAX);
        if count >= endpoints_max {
            return Err(NotDone::Full(endpoints_max).into());
        }
        let endpoint_id = tx.new_id();
        let endpoint = Endpoint {
            url: new.url,
            patterns: new.patterns,
            description: new.description,
            secret_origin: new.secret.origin,
            disabled: (!new.is_active).then_some(DisabledReason::Manual),
            created_at: now,
            updated_at: now,
        };
        let key = EndpointKey { tenant_id, endpoint_id };
        keep(self.put(tx, key, &endpoint, Some(new.secret.key.expose()))?)?;
        Ok((endpoint_id, endpoint))
    }

    /// Changes an endpoint; a new secret signs from the next attempt on. Enabled again, its health is counted anew. What changes
    /// nothing is no change.
    ///
    /// # Errors
    /// [`NotDone::NoEndpoint`]
    pub fn change(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        key: EndpointKey,
        change: EndpointChange,
    ) -> Result<Endpoint, Abort<NotDone>> {
        let before = self.find(tx, key)?.ok_or(NotDone::NoEndpoint)?;
        let mut endpoint = before.clone();
        if let Some(url) = change.url {
            endpoint.url = url;
        }
        if let Some(patterns) = change.patterns {
            endpoint.patterns = patterns;
        }
        if let Some(description) = change.description {
            endpoint.description = description;
        }
        match change.is_active {
            Some(true) if endpoint.disabled.is_some() => {
                endpoint.disabled = None;
                reset_health(tx, now, self.outbox(key.tenant_id), key.endpoint_id)?;
            }
            Some(false) if endpoint.disabled.is_none() => endpoint.disabled = Some(DisabledReason::Manual),
            _ => {}
        }
        if let Some(secret) = &change.secret {
            endpoint.secret_origin = secret.origin;
        }
        if change.secret.is_none() && endpoint == before {
            return Ok(before);
        }
        endpoint.updated_at = now;
        let secret = change.secret.as_ref().map(|secret| secret.key.expose().as_slice());
        keep(self.put(tx, key, &endpoint, secret)?)?;
        Ok(endpoint)
    }

    /// Takes an endpoint away, and its deliveries.
    ///
    /// # Errors
    /// [`NotDone::NoEndpoint`]
    pub fn remove(&self, tx: &mut WriteTx<'_>, now: Timestamp, key: EndpointKey) -> Result<(), Abort<NotDone>> {
        self.find(tx, key)?.ok_or(NotDone::NoEndpoint)?;
        Ok(self.delete(tx, now, key)?)
    }

    /// Has an endpoint told that it is being tried: one attempt, whatever it asks for, that counts nowhere.
    ///
    /// # Errors
    /// [`NotDone::NoEndpoint`], [`NotDone::Inactive`], [`NotDone::Crowded`]
    pub fn test(&self, tx: &mut WriteTx<'_>, now: Timestamp, key: EndpointKey) -> Result<Delivery, Abort<NotDone>> {
        self.check_active(tx, key)?;
        self.demand_room(tx, key.tenant_id, Target::Endpoint(key.endpoint_id))?;
        let id = (self.write_id)(key.endpoint_id);
        let event = Event {
            event_id: tx.new_id(),
            name: TEST.to_owned(),
            occurred_at: now,
            tenant_id: key.tenant_id,
            resource_type: "webhook_endpoint",
            resource_id: id.clone(),
            data: Json::object([("endpoint_id", id.into())]),
        };
        let envelope = self.envelope(&event, usize::MAX);
        let kept_days = (self.terms)(tx, key.tenant_id)?.kept_days;
        let new = NewDelivery {
            attempts_max: 1,
            is_counted: false,
            ..self.delivery_of(&event, NewTarget::Endpoint(key.endpoint_id), kept_days)
        };
        let id = enqueue(tx, now, new, |id| envelope.with_delivery(id, Some(key.endpoint_id)))?;
        self.delivery(tx, key.tenant_id, id.ok_or(NotDone::NoEndpoint)?)
    }

    /// What is asked for beyond what happens waits for no more than so much that waits for the same target.
    fn demand_room(&self, tx: &WriteTx<'_>, tenant_id: Uuid, target: Target) -> Result<(), Abort<NotDone>> {
        if self.has_room(tx, tenant_id, target)? { Ok(()) } else { Err(NotDone::Crowded(ASKED_WAITING_MAX).into()) }
    }

    /// Whether an endpoint is there, and active.
    ///
    /// # Errors
    /// [`NotDone::NoEndpoint`], [`NotDone::Inactive`]
    pub fn check_active(&self, tx: &WriteTx<'_>, key: EndpointKey) -> Result<(), Abort<NotDone>> {
        match self.find(tx, key)?.ok_or(NotDone::NoEndpoint)?.disabled {
            Some(_) => Err(NotDone::Inactive.into()),
            None => Ok(()),
        }
    }

    /// Sends once more what has ended, to where its target is today.
    ///
    /// # Errors
    /// [`NotDone::NoDelivery`], [`NotDone::Inactive`], [`NotDone::NotEnded`], [`NotDone::Crowded`]
    pub fn redeliver(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        tenant_id: Uuid,
        id: u64,
    ) -> Result<Delivery, Abort<NotDone>> {
        let old = self.delivery(tx, tenant_id, id)?;
        if let Target::Endpoint(endpoint_id) = old.target {
            let endpoint = self.find(tx, EndpointKey { tenant_id, endpoint_id })?.ok_or(NotDone::NoDelivery)?;
            if endpoint.disabled.is_some() {
                return Err(NotDone::Inactive.into());
            }
        }
        if old.end.is_some() {
            self.demand_room(tx, tenant_id, old.target)?;
        }
        let attempts_max = if old.is_counted { ATTEMPTS_MAX } else { 1 };
        let again = enqueue_again(tx, now, self.outbox(tenant_id), id, attempts_max, renumbered);
        let number = again.map_err(|abort| match abort {
            Abort::Failed(failure) => Abort::Failed(failure),
            Abort::Refused(NotRedelivered::NotFound) => Abort::Refused(NotDone::NoDelivery),
            Abort::Refused(NotRedelivered::NotTerminal) => Abort::Refused(NotDone::NotEnded),
        })?;
        self.delivery(tx, tenant_id, number)
    }

    fn delivery(&self, tx: &WriteTx<'_>, tenant_id: Uuid, id: u64) -> Result<Delivery, Abort<NotDone>> {
        Ok(find_delivery(tx, self.outbox(tenant_id), id)?.ok_or(NotDone::NoDelivery)?)
    }
}

/// A tenant's key is never destroyed while its requests are let in.
fn keep(is_kept: bool) -> Result<(), Abort<NotDone>> {
    if is_kept { Ok(()) } else { Err(NotDone::NoEndpoint.into()) }
}
