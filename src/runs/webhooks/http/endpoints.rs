//! Endpoints over HTTP.

use quintet_platform::deliveries::{DeliveryState, Health};
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::service::{
    Answer, CURSOR, Content, FromSegment, KeyRule, Parameter, Route, Segment, Shape, failed, json as success, limit,
};
use quintet_platform::webhooks::{EndpointChange, EndpointKey, SigningSecret, with_secret};
use quintet_storage::{Uuid, WriteTx};
use serde_json::json;

use super::super::manage::{self, NO_ENDPOINT, refused};
use super::super::room::WEBHOOKS;
use super::form::{read_change, read_new};
use crate::dialect::{Answered, Call, tenant_of};
use crate::refusal::Refusal;

/// The endpoint that a path names.
pub(super) const ENDPOINT: Segment = Segment::new("endpoint_id", Shape::Ulid);
const LIMIT: Parameter = limit(50, 200);

pub(super) const CREATE: Route = Route::post("create_webhook", "/api/v1/webhooks")
    .permission("svc_run_submit")
    .summary("Be told of events at an address; the secret is shown this once")
    .body(Content::Json("WebhookCreate"))
    .successes(&[success(201, "WebhookCreated")])
    .makes("endpoint_id", "endpoint_id")
    .key(KeyRule::Optional)
    .codes(&["limit_reached", "url_not_allowed"]);
pub(super) const LIST: Route = Route::get("list_webhooks", "/api/v1/webhooks")
    .permission("svc_run_read")
    .summary("List endpoints, newest first")
    .parameters(&[LIMIT, CURSOR])
    .successes(&[success(200, "WebhookPage")]);
pub(super) const GET: Route = Route::get("get_webhook", "/api/v1/webhooks/{endpoint_id}")
    .permission("svc_run_read")
    .summary("One endpoint, and what its deliveries have come to")
    .segments(&[ENDPOINT])
    .successes(&[success(200, "WebhookEndpoint")]);
pub(super) const CHANGE: Route = Route::patch("change_webhook", "/api/v1/webhooks/{endpoint_id}")
    .permission("svc_run_submit")
    .summary("Change an endpoint; a new secret signs from the next attempt on, \"active\": true counts its health anew")
    .segments(&[ENDPOINT])
    .body(Content::Json("WebhookChange"))
    .successes(&[success(200, "WebhookEndpoint")])
    .codes(&["url_not_allowed"]);
pub(super) const DELETE: Route = Route::delete("delete_webhook", "/api/v1/webhooks/{endpoint_id}")
    .permission("svc_run_submit")
    .summary("Delete an endpoint, and its deliveries")
    .segments(&[ENDPOINT])
    .successes(&[success(200, "WebhookDeleted")]);
pub(super) const ROTATE: Route = Route::post("rotate_webhook_secret", "/api/v1/webhooks/{endpoint_id}/rotate-secret")
    .permission("svc_run_submit")
    .summary("Give an endpoint a new generated secret, which is shown this once and signs from the next attempt on")
    .segments(&[ENDPOINT])
    .successes(&[success(200, "WebhookCreated")])
    .key(KeyRule::Optional);
pub(super) const TEST: Route = Route::post("test_webhook", "/api/v1/webhooks/{endpoint_id}/test")
    .permission("svc_run_submit")
    .summary("Send webhook.test to an endpoint: one attempt, which counts nowhere")
    .segments(&[ENDPOINT])
    .successes(&[success(202, "Delivery")])
    .makes("delivery_id", "delivery_id")
    .key(KeyRule::Optional)
    .codes(&["invalid_state", "limit_reached"]);

/// The id of an endpoint in a path.
struct Named(Uuid);

impl FromSegment for Named {
    fn from_segment(text: &str) -> Option<Named> {
        parse_ulid(text).map(Named)
    }
}

/// The endpoint of a request's path. A malformed id names nothing.
pub(super) fn endpoint_key(call: &Call) -> Result<EndpointKey, Refusal> {
    let Named(endpoint_id) = call.segment(ENDPOINT.name).ok_or(NO_ENDPOINT)?;
    Ok(EndpointKey { tenant_id: tenant_of(call).0, endpoint_id })
}

pub(super) async fn create(call: Call) -> Answered {
    let (tenant_id, ceilings) = (tenant_of(&call), call.context.settings.ceilings.clone());
    let mut change = call.change().await?;
    change.begin()?;
    let new = read_new(change.json()?, &change.call).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let secret = new.secret.clone();
        let (id, endpoint) = manage::create(tx, now, tenant_id, &ceilings, new)?;
        let record = WEBHOOKS.write_endpoint(now, id, &endpoint, &Health::default());
        Ok(Answer::value(201, &with_secret(record, &secret)).secret())
    };
    change.write(verb).await
}

pub(super) async fn list(mut call: Call) -> Answered {
    const KIND: &str = "webhooks";
    let page = call.page::<[u8; 16]>(KIND, &LIMIT)?;
    let (read, now, tenant_id) = (call.snapshot(), call.now(), tenant_of(&call).0);
    let listed = WEBHOOKS.page(&read, now, tenant_id, KIND, &page);
    let (items, next_cursor) = listed.map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(Answer::value(200, &json!({"items": items, "next_cursor": next_cursor})))
}

pub(super) async fn get(call: Call) -> Answered {
    let (key, read) = (endpoint_key(&call)?, call.snapshot());
    let endpoint = WEBHOOKS.find(&read, key).map_err(|failure| failed::<Refusal>(&failure))?.ok_or(NO_ENDPOINT)?;
    let record = WEBHOOKS.record(&read, call.now(), key, &endpoint);
    Ok(Answer::value(200, &record.map_err(|failure| failed::<Refusal>(&failure))?))
}

pub(super) async fn change(call: Call) -> Answered {
    let key = endpoint_key(&call)?;
    let mut change = call.change().await?;
    // Nobody is asked for a name on behalf of an endpoint that is not there.
    let endpoint = WEBHOOKS.find(&change.call.snapshot(), key).map_err(|failure| failed::<Refusal>(&failure))?;
    endpoint.ok_or(NO_ENDPOINT)?;
    let asked = read_change(change.json()?, &change.call).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let endpoint = WEBHOOKS.change(tx, now, key, asked).map_err(refused)?;
        Ok(Answer::value(200, &WEBHOOKS.record(tx, now, key, &endpoint)?))
    };
    change.write(verb).await
}

pub(super) async fn delete(call: Call) -> Answered {
    let key = endpoint_key(&call)?;
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        WEBHOOKS.remove(tx, now, key).map_err(refused)?;
        let id = ulid(key.endpoint_id);
        Ok(Answer::value(200, &json!({"endpoint_id": id, "deleted": true})))
    };
    change.freeing(true).write(verb).await
}

pub(super) async fn rotate(call: Call) -> Answered {
    let key = endpoint_key(&call)?;
    let mut change = call.change().await?;
    change.begin()?;
    let secret = SigningSecret::generated();
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let asked = EndpointChange { secret: Some(secret.clone()), ..EndpointChange::default() };
        let endpoint = WEBHOOKS.change(tx, now, key, asked).map_err(refused)?;
        Ok(Answer::value(200, &with_secret(WEBHOOKS.record(tx, now, key, &endpoint)?, &secret)).secret())
    };
    change.write(verb).await
}

pub(super) async fn test(call: Call) -> Answered {
    let key = endpoint_key(&call)?;
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let delivery = WEBHOOKS.test(tx, now, key).map_err(refused)?;
        Ok(Answer::value(202, &WEBHOOKS.write_delivery(tx, key.tenant_id, &delivery, DeliveryState::Pending)?))
    };
    change.write(verb).await
}
