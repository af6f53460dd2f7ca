//! What a tenant does with its endpoints and its deliveries: each leaves an event in its audit chain.

use quintet_platform::deliveries::Delivery;
use quintet_platform::webhooks::{Endpoint, EndpointChange, EndpointKey, NewEndpoint, NotDone};
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use super::chain::{TEST, about, redelivered, standing};
use super::room::{ENDPOINTS_MAX, WEBHOOKS};
use crate::audit::{self, Actor};
use crate::refusal::Refusal;

/// Why something was not done, as an answer.
fn refusal(not_done: NotDone) -> Refusal {
    match not_done {
        NotDone::NoEndpoint | NotDone::NoDelivery => Refusal::NotFound,
        NotDone::Inactive => Refusal::Conflict("the endpoint is inactive; enable it with PATCH {\"active\": true}"),
        NotDone::NotEnded => Refusal::Conflict("the delivery has not ended"),
        NotDone::Full(_) => Refusal::Conflict("the tenant has 20 webhook endpoints, which is the most"),
        NotDone::Crowded(_) => Refusal::Conflict("10,000 deliveries wait for the endpoint"),
        NotDone::Of(_, what) => refusal(*what),
    }
}

fn refused(abort: Abort<NotDone>) -> Abort<Refusal> {
    match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(not_done) => Abort::Refused(refusal(not_done)),
    }
}

fn key_of(actor: &Actor, endpoint_id: Uuid) -> EndpointKey {
    EndpointKey { tenant_id: actor.tenant_id.0, endpoint_id }
}

/// Makes an endpoint.
///
/// # Errors
/// [`Refusal::Conflict`] for one too many.
pub(super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    new: NewEndpoint,
) -> Result<(Uuid, Endpoint), Abort<Refusal>> {
    let made = WEBHOOKS.create(tx, now, actor.tenant_id.0, ENDPOINTS_MAX, new);
    let (endpoint_id, endpoint) = made.map_err(refused)?;
    audit::record(tx, now, actor, about("webhook.create", endpoint_id).with(standing(&endpoint)))?;
    Ok((endpoint_id, endpoint))
}

/// Changes an endpoint, which is one of these actions; a new secret signs from the next attempt on. Enabled again, its health
/// is counted anew.
///
/// # Errors
/// [`Refusal::NotFound`]
pub(super) fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    endpoint_id: Uuid,
    action: &'static str,
    change: EndpointChange,
) -> Result<Endpoint, Abort<Refusal>> {
    let key = key_of(actor, endpoint_id);
    let (before, has_secret) = (WEBHOOKS.find(tx, key)?, change.secret.is_some());
    let endpoint = WEBHOOKS.change(tx, now, key, change).map_err(refused)?;
    // What changes nothing is told of nowhere.
    if has_secret || before.as_ref() != Some(&endpoint) {
        audit::record(tx, now, actor, about(action, endpoint_id).with(standing(&endpoint)))?;
    }
    Ok(endpoint)
}

/// Takes an endpoint away, and its deliveries.
///
/// # Errors
/// [`Refusal::NotFound`]
pub(super) fn remove(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    endpoint_id: Uuid,
) -> Result<(), Abort<Refusal>> {
    WEBHOOKS.remove(tx, now, key_of(actor, endpoint_id)).map_err(refused)?;
    audit::record(tx, now, actor, about("webhook.delete", endpoint_id))?;
    Ok(())
}

/// Has an endpoint told that it is being tried.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] if it is inactive, or too much waits.
pub(super) fn test(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    endpoint_id: Uuid,
) -> Result<Delivery, Abort<Refusal>> {
    let delivery = WEBHOOKS.test(tx, now, key_of(actor, endpoint_id)).map_err(refused)?;
    audit::record(tx, now, actor, about(TEST, endpoint_id))?;
    Ok(delivery)
}

/// Sends once more what has ended.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Conflict`] if it has not ended, its endpoint is inactive, or too much waits.
pub(super) fn redeliver(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    id: u64,
) -> Result<Delivery, Abort<Refusal>> {
    let tenant_id = actor.tenant_id.0;
    let delivery = WEBHOOKS.redeliver(tx, now, tenant_id, id).map_err(refused)?;
    audit::record(tx, now, actor, redelivered(id, delivery.id))?;
    Ok(delivery)
}
