//! What a tenant does with its endpoints and its deliveries.

use quintet_platform::deliveries::{
    self, Delivery, NewDelivery, NewTarget, NotRedelivered, Target, enqueue, redeliver as enqueue_again, reset_health,
};
use quintet_platform::ids::ulid;
use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::emit::{ASKED_PENDING_MAX, ATTEMPTS_MAX, has_room};
use super::endpoints::{all, delete, find, put};
use super::envelope::{Envelope, Event, renumbered};
use super::model::{DisabledReason, Endpoint, EndpointChange, EndpointId, NewEndpoint, outbox};
use crate::allowances::{Ceilings, quotas};
use crate::events::TEST;
use crate::model::TenantId;
use crate::refusal::Refusal;

/// What there is none of.
pub(super) const NO_ENDPOINT: Refusal = Refusal::NoSuch("no such webhook endpoint in this tenant");
pub(super) const NO_DELIVERY: Refusal = Refusal::NoSuch("no such delivery in this tenant");
pub(super) const INACTIVE: Refusal =
    Refusal::NotNow("the endpoint is inactive; enable it with PATCH {\"active\": true}");

/// Makes an endpoint.
pub(crate) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    ceilings: &Ceilings,
    new: NewEndpoint,
) -> Result<(EndpointId, Endpoint), Abort<Refusal>> {
    let most = quotas::numbers(tx, tenant_id, ceilings)?.max_webhook_endpoints;
    let count = u64::try_from(all(tx, tenant_id)?.len()).unwrap_or(u64::MAX);
    if count >= most {
        return Err(Refusal::LimitReached("max_webhook_endpoints", most).into());
    }
    let endpoint_id = EndpointId(tx.new_id());
    let endpoint = Endpoint {
        url: new.url,
        patterns: new.patterns,
        description: new.description,
        secret_origin: new.secret.origin,
        disabled: (!new.is_active).then_some(DisabledReason::Manual),
        created_at: now,
        updated_at: now,
    };
    keep(put(tx, (tenant_id, endpoint_id), &endpoint, Some(new.secret.key.expose()))?)?;
    Ok((endpoint_id, endpoint))
}

/// A tenant's key is never destroyed while its requests are let in.
fn keep(is_kept: bool) -> Result<(), Abort<Refusal>> {
    if is_kept { Ok(()) } else { Err(NO_ENDPOINT.into()) }
}

/// Changes an endpoint; a new secret signs from the next attempt on. Enabled again, its health is counted anew.
pub(super) fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: (TenantId, EndpointId),
    change: EndpointChange,
) -> Result<Endpoint, Abort<Refusal>> {
    let mut endpoint = find(tx, key)?.ok_or(NO_ENDPOINT)?;
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
            reset_health(tx, now, outbox(key.0), key.1.0)?;
        }
        Some(false) if endpoint.disabled.is_none() => endpoint.disabled = Some(DisabledReason::Manual),
        _ => {}
    }
    if let Some(secret) = &change.secret {
        endpoint.secret_origin = secret.origin;
    }
    endpoint.updated_at = now;
    let secret = change.secret.as_ref().map(|secret| secret.key.expose().as_slice());
    keep(put(tx, key, &endpoint, secret)?)?;
    Ok(endpoint)
}

/// Takes an endpoint away, and its deliveries.
pub(super) fn remove(tx: &mut WriteTx<'_>, now: Timestamp, key: (TenantId, EndpointId)) -> Result<(), Abort<Refusal>> {
    find(tx, key)?.ok_or(NO_ENDPOINT)?;
    Ok(delete(tx, now, key)?)
}

/// Has an endpoint told that it is being tried: one attempt, whatever it asks for, that counts nowhere.
pub(super) fn test(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: (TenantId, EndpointId),
) -> Result<Delivery, Abort<Refusal>> {
    let (tenant_id, endpoint_id) = key;
    let endpoint = find(tx, key)?.ok_or(NO_ENDPOINT)?;
    if endpoint.disabled.is_some() {
        return Err(INACTIVE.into());
    }
    let event = Event {
        event_id: tx.new_id(),
        name: TEST.to_owned(),
        occurred_at: now,
        tenant_id,
        resource_type: "webhook_endpoint",
        resource_id: ulid(endpoint_id.0),
        data: Json::object([("endpoint_id", ulid(endpoint_id.0).into())]),
    };
    let envelope = Envelope::of(&event, usize::MAX);
    let new = NewDelivery {
        outbox: outbox(tenant_id),
        target: NewTarget::Endpoint(endpoint_id.0),
        event_id: event.event_id,
        event: TEST,
        resource: &event.resource_id,
        attempts_max: 1,
        is_counted: false,
        redelivery_of: None,
        kept_days: kept_days(tx, tenant_id)?,
    };
    let id = enqueue(tx, now, new, |id| envelope.with_delivery(id, Some(endpoint_id.0)))?;
    delivery(tx, tenant_id, id.ok_or(NO_ENDPOINT)?)
}

/// What a tenant asks for beyond what happens waits for no more than so much that waits already.
pub(super) fn demand_room(tx: &WriteTx<'_>, tenant_id: TenantId) -> Result<(), Abort<Refusal>> {
    match has_room(tx, tenant_id)? {
        true => Ok(()),
        false => {
            Err(Refusal::LimitReached("the most deliveries that may wait beside a new one", ASKED_PENDING_MAX).into())
        }
    }
}

/// Whether an endpoint is there, and active.
pub(super) fn check_active(tx: &WriteTx<'_>, key: (TenantId, EndpointId)) -> Result<(), Abort<Refusal>> {
    match find(tx, key)?.ok_or(NO_ENDPOINT)?.disabled {
        Some(_) => Err(INACTIVE.into()),
        None => Ok(()),
    }
}

fn kept_days(tx: &WriteTx<'_>, tenant_id: TenantId) -> Result<u32, Failure> {
    let days = quotas::of_telling(tx, tenant_id)?.retention_days;
    Ok(u32::try_from(days).unwrap_or(u32::MAX))
}

/// Sends once more what has ended, to where its target is today.
pub(super) fn redeliver(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    id: u64,
) -> Result<Delivery, Abort<Refusal>> {
    let old = delivery(tx, tenant_id, id)?;
    if let Target::Endpoint(endpoint_id) = old.target {
        let endpoint = find(tx, (tenant_id, EndpointId(endpoint_id)))?.ok_or(NO_DELIVERY)?;
        if endpoint.disabled.is_some() {
            return Err(INACTIVE.into());
        }
    }
    let attempts_max = if old.is_counted { ATTEMPTS_MAX } else { 1 };
    let again = enqueue_again(tx, now, outbox(tenant_id), id, attempts_max, renumbered);
    let number = again.map_err(|abort| match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(NotRedelivered::NotFound) => Abort::Refused(NO_DELIVERY),
        Abort::Refused(NotRedelivered::NotTerminal) => Abort::Refused(Refusal::NotNow("the delivery has not ended")),
    })?;
    delivery(tx, tenant_id, number)
}

fn delivery(tx: &WriteTx<'_>, tenant_id: TenantId, id: u64) -> Result<Delivery, Abort<Refusal>> {
    Ok(deliveries::find(tx, outbox(tenant_id), id)?.ok_or(NO_DELIVERY)?)
}
