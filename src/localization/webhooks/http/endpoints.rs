//! Endpoints over HTTP.

use quintet_platform::deliveries::{DeliveryState, Health};
use quintet_platform::service::{
    Answer, CURSOR, Content, KeyRule, Route, Segment, Shape, json as success, refusal_of, written,
};
use quintet_platform::webhooks::{Endpoint, EndpointChange, EndpointKey, SigningSecret, with_secret};
use quintet_storage::{Abort, Failure, Read, Uuid};
use serde_json::{Value, json};

use super::super::room::WEBHOOKS;
use super::super::{chain, manage};
use super::form::{check_url, read_change, read_new};
use crate::access::Wanted;
use crate::http::{Answered, Call, LIMIT};
use crate::refusal::Refusal;

/// What all routes of webhooks ask for.
pub(super) const MANAGE: &str = "org_members-manage";
/// The endpoint that a path names.
pub(super) const ENDPOINT: Segment = Segment::new("endpoint_id", Shape::Uuid);

pub(super) const LIST: Route = Route::get("list_webhooks", "/v1/webhooks")
    .permission(MANAGE)
    .summary("List endpoints, newest first")
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "WebhookPage")])
    .codes(&["busy"]);
pub(super) const CREATE: Route = Route::post("create_webhook", "/v1/webhooks")
    .permission(MANAGE)
    .summary("Be told of events at an address; the secret is shown this once")
    .key(KeyRule::Optional)
    .body(Content::Json("WebhookCreate"))
    .successes(&[success(201, "WebhookCreated")])
    .makes(ENDPOINT.noun, "endpoint_id")
    .codes(&["conflict", "url_not_allowed"]);
pub(super) const GET: Route = Route::get("get_webhook", "/v1/webhooks/{endpoint_id}")
    .permission(MANAGE)
    .summary("One endpoint, and what its deliveries have come to")
    .segments(&[ENDPOINT])
    .successes(&[success(200, "WebhookEndpoint")]);
pub(super) const PATCH: Route = Route::patch("patch_webhook", "/v1/webhooks/{endpoint_id}")
    .permission(MANAGE)
    .summary("Change an endpoint; a new secret signs from the next attempt on, \"active\": true counts its health anew")
    .segments(&[ENDPOINT])
    .key(KeyRule::Optional)
    .body(Content::Json("WebhookChange"))
    .successes(&[success(200, "WebhookEndpoint")])
    .codes(&["url_not_allowed"]);
pub(super) const DELETE: Route = Route::delete("delete_webhook", "/v1/webhooks/{endpoint_id}")
    .permission(MANAGE)
    .summary("Delete an endpoint, and its deliveries")
    .segments(&[ENDPOINT])
    .key(KeyRule::Optional)
    .successes(&[success(200, "WebhookDeleted")]);
pub(super) const ROTATE: Route = Route::post("rotate_webhook_secret", "/v1/webhooks/{endpoint_id}/rotate-secret")
    .permission(MANAGE)
    .summary("Give an endpoint a new generated secret, which is shown this once and signs from the next attempt on")
    .segments(&[ENDPOINT])
    .key(KeyRule::Optional)
    .successes(&[success(200, "WebhookCreated")]);
pub(super) const TEST: Route = Route::post("test_webhook", "/v1/webhooks/{endpoint_id}/test")
    .permission(MANAGE)
    .summary("Send webhook.test to an endpoint: one attempt, which counts nowhere")
    .segments(&[ENDPOINT])
    .key(KeyRule::Optional)
    .successes(&[success(202, "WebhookDelivery")])
    .makes("delivery_id", "delivery_id")
    .codes(&["conflict"]);

/// Whether the caller may see and change webhooks: asked before anything is looked for (localization, O1).
pub(super) fn permit(call: &Call) -> Result<(), Refusal> {
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)
}

/// The endpoint of a request's path. A malformed id names nothing.
pub(super) fn endpoint_key(call: &Call) -> Result<EndpointKey, Refusal> {
    let endpoint_id = call.segment::<Uuid>(ENDPOINT.name).ok_or(Refusal::NotFound)?;
    Ok(EndpointKey { tenant_id: call.caller.tenant_id().0, endpoint_id })
}

/// The endpoint of this key.
pub(super) fn find(read: &impl Read, key: EndpointKey) -> Result<Endpoint, Abort<Refusal>> {
    Ok(WEBHOOKS.find(read, key)?.ok_or(Refusal::NotFound)?)
}

pub(super) async fn list(mut call: Call) -> Answered {
    const KIND: &str = "webhooks";
    let page = call.page::<[u8; 16]>(KIND, &LIMIT)?;
    permit(&call)?;
    let (context, tenant_id, now) = (call.context.clone(), call.caller.tenant_id(), call.now());
    let told = context.aside(tenant_id, move |read| {
        let (webhooks, next_cursor) = WEBHOOKS.page(read, now, tenant_id.0, KIND, &page)?;
        Ok(Answer::value(200, &json!({"webhooks": webhooks, "next_cursor": next_cursor})))
    });
    Ok(told.await.map_err(refusal_of)?)
}

pub(super) async fn get(call: Call) -> Answered {
    permit(&call)?;
    let (key, now) = (endpoint_key(&call)?, call.now());
    let endpoint = find(&call.snapshot(), key).map_err(refusal_of)?;
    call.answer(200, |read| Ok(written(&WEBHOOKS.record(read, now, key, &endpoint)?)?))
}

/// An endpoint with its new secret. A repeat of the request is told all but that (localization, O5).
fn told_once(status: u16, record: Value, secret: &SigningSecret) -> Result<Answer, Failure> {
    let shown = with_secret(record, secret);
    let mut remembered = shown.clone();
    for name in ["secret", "standard_webhooks_secret"] {
        if let Some(member) = remembered.get_mut(name) {
            *member = Value::Null;
        }
    }
    Ok(Answer::value(status, &shown).remembered_as(written(&remembered)?))
}

pub(super) async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let new = read_new(change.json()?)?;
    change.begin()?;
    permit(&change.call)?;
    check_url(&change.call, &new.url).await?;
    let actor = change.call.caller.actor.clone();
    let made = change.write(move |tx, now| {
        let secret = new.secret.clone();
        let (id, endpoint) = manage::create(tx, now, &actor, new)?;
        Ok(told_once(201, WEBHOOKS.write_endpoint(now, id, &endpoint, &Health::default()), &secret)?)
    });
    made.await
}

pub(super) async fn patch(call: Call) -> Answered {
    let mut change = call.change().await?;
    let asked = read_change(change.json()?)?;
    change.begin()?;
    permit(&change.call)?;
    let key = endpoint_key(&change.call)?;
    // Nobody is asked for a name on behalf of an endpoint that is not there.
    find(&change.call.snapshot(), key).map_err(refusal_of)?;
    if let Some(url) = &asked.url {
        check_url(&change.call, url).await?;
    }
    let actor = change.call.caller.actor.clone();
    let changed = change.write(move |tx, now| {
        let endpoint = manage::change(tx, now, &actor, key.endpoint_id, chain::UPDATE, asked)?;
        Ok(Answer::value(200, &WEBHOOKS.record(tx, now, key, &endpoint)?))
    });
    changed.await
}

pub(super) async fn delete(call: Call) -> Answered {
    let mut change = call.change().await?.freeing(true);
    change.begin()?;
    permit(&change.call)?;
    let endpoint_id = endpoint_key(&change.call)?.endpoint_id;
    let actor = change.call.caller.actor.clone();
    let removed = change.write(move |tx, now| {
        manage::remove(tx, now, &actor, endpoint_id)?;
        Ok(Answer::value(200, &json!({"endpoint_id": (WEBHOOKS.write_id)(endpoint_id), "deleted": true})))
    });
    removed.await
}

pub(super) async fn rotate(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    permit(&change.call)?;
    let (key, actor) = (endpoint_key(&change.call)?, change.call.caller.actor.clone());
    let secret = SigningSecret::generated();
    let rotated = change.write(move |tx, now| {
        let asked = EndpointChange { secret: Some(secret.clone()), ..EndpointChange::default() };
        let endpoint = manage::change(tx, now, &actor, key.endpoint_id, chain::ROTATE, asked)?;
        Ok(told_once(200, WEBHOOKS.record(tx, now, key, &endpoint)?, &secret)?)
    });
    rotated.await
}

pub(super) async fn test(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    permit(&change.call)?;
    let (key, actor) = (endpoint_key(&change.call)?, change.call.caller.actor.clone());
    let tried = change.write(move |tx, now| {
        let delivery = manage::test(tx, now, &actor, key.endpoint_id)?;
        Ok(Answer::value(202, &WEBHOOKS.write_delivery(tx, key.tenant_id, &delivery, DeliveryState::Pending)?))
    });
    tried.await
}
