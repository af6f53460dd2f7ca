//! What a tenant does with its endpoints and its deliveries: each leaves an event in its audit chain. Addresses and secrets
//! are not in it: nothing can be taken out of the chain, and an address may have a secret in itself.

use http::Uri;
use quintet_platform::deliveries::Delivery;
use quintet_platform::egress::authority_of;
use quintet_platform::json::Json;
use quintet_platform::webhooks::{Endpoint, EndpointChange, EndpointKey, NewEndpoint, NotDone};
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use super::room::{ENDPOINTS_MAX, WEBHOOKS};
use crate::audit::{self, Actor, Event};
use crate::refusal::Refusal;

/// Why something was not done, as an answer.
fn refusal(not_done: NotDone) -> Refusal {
    match not_done {
        NotDone::NoEndpoint | NotDone::NoDelivery => Refusal::NotFound,
        NotDone::Inactive => Refusal::Conflict("the endpoint is inactive; enable it with PATCH {\"active\": true}"),
        NotDone::NotEnded => Refusal::Conflict("the delivery has not ended"),
        NotDone::Full(_) => Refusal::Conflict("the tenant has 20 webhook endpoints, which is the most"),
        NotDone::Crowded(_) => Refusal::Conflict("more than 10,000 deliveries of the tenant wait"),
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

fn about(action: &'static str, endpoint_id: Uuid) -> Event {
    Event::about(action, "webhook_endpoint", endpoint_id)
}

/// What the chain is told of an endpoint as it stands.
fn standing(endpoint: &Endpoint) -> [(&'static str, Json); 3] {
    let host = endpoint.url.parse::<Uri>().ok().and_then(|uri| authority_of(&uri)).unwrap_or_default();
    let events = endpoint.patterns.iter().map(|pattern| Json::from(pattern.as_str())).collect::<Vec<_>>();
    [("host", host.into()), ("events", events.into()), ("active", Json::Bool(endpoint.disabled.is_none()))]
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

/// What the chain says when an endpoint was changed.
pub(super) const UPDATE: &str = "webhook.update";
/// What it says when an endpoint got a new secret, and nothing else.
pub(super) const ROTATE: &str = "webhook.rotate_secret";

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
    let endpoint = WEBHOOKS.change(tx, now, key_of(actor, endpoint_id), change).map_err(refused)?;
    audit::record(tx, now, actor, about(action, endpoint_id).with(standing(&endpoint)))?;
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
    WEBHOOKS.demand_room(tx, actor.tenant_id.0).map_err(refused)?;
    audit::record(tx, now, actor, about("webhook.test", endpoint_id))?;
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
    WEBHOOKS.demand_room(tx, tenant_id).map_err(refused)?;
    let event = Event {
        action: "webhook.redeliver",
        target_type: "webhook_delivery",
        target_id: id.to_string(),
        payload: Some(Json::object([("delivery_id", Json::from(delivery.id))])),
    };
    audit::record(tx, now, actor, event)?;
    Ok(delivery)
}
