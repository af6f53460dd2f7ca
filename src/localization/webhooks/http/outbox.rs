//! Deliveries over HTTP.

use quintet_platform::deliveries::DeliveryState;
use quintet_platform::ids::parse_uuid;
use quintet_platform::service::{Answer, KeyRule, Parameter, Route, Segment, Shape, json as success, refusal_of};
use quintet_platform::webhooks::DeliveryNumber;
use quintet_platform::webhooks::query::{Asked, BEFORE, SINCE, STATE, newest};
use serde_json::json;

use super::super::manage;
use super::super::room::WEBHOOKS;
use super::endpoints::{ENDPOINT, MANAGE, endpoint_key, find, permit};
use crate::http::{Answered, Call};
use crate::refusal::Refusal;

const LIMIT: Parameter = newest(500);
const OF_ENDPOINT: Parameter = Parameter::new("endpoint_id", Shape::Uuid, "Deliveries to this endpoint.");
const OF_RESOURCE: Parameter = Parameter::new("resource_id", Shape::Uuid, "Deliveries that tell of this.");
/// The delivery that a path names.
const DELIVERY: Segment = Segment::new("delivery_id", Shape::integer(1, i64::MAX));

pub(super) const LIST: Route = Route::get("list_webhook_deliveries", "/v1/webhooks/{endpoint_id}/deliveries")
    .permission(MANAGE)
    .summary("The newest deliveries to an endpoint, in the order of their numbers")
    .segments(&[ENDPOINT])
    .parameters(&[SINCE, BEFORE, LIMIT, STATE])
    .successes(&[success(200, "WebhookDeliveryPage")])
    .codes(&["busy"]);
pub(super) const LIST_ALL: Route = Route::get("list_deliveries", "/v1/webhooks/deliveries")
    .permission(MANAGE)
    .summary("The newest deliveries of the tenant, in the order of their numbers")
    .parameters(&[SINCE, BEFORE, LIMIT, STATE, OF_ENDPOINT, OF_RESOURCE])
    .successes(&[success(200, "WebhookDeliveryPage")])
    .codes(&["busy"]);
pub(super) const REDELIVER: Route = Route::post("redeliver_webhook", "/v1/webhooks/deliveries/{delivery_id}/redeliver")
    .permission(MANAGE)
    .summary("Send once more what has ended: the same event, under a new number")
    .segments(&[DELIVERY])
    .key(KeyRule::Optional)
    .successes(&[success(202, "WebhookDelivery")])
    .codes(&["conflict"]);

pub(super) async fn list(mut call: Call) -> Answered {
    let asked = Asked::read(&mut call, &LIMIT)?;
    permit(&call)?;
    let key = endpoint_key(&call)?;
    find(&call.snapshot(), key).map_err(refusal_of)?;
    listed(call, Asked { endpoint_id: Some(key.endpoint_id), ..asked }).await
}

pub(super) async fn list_all(mut call: Call) -> Answered {
    let asked = Asked::read(&mut call, &LIMIT)?;
    let endpoint_id = call.text(&OF_ENDPOINT)?.and_then(|text| parse_uuid(&text));
    // As it is written in what is told.
    let resource = call.text(&OF_RESOURCE)?.and_then(|text| parse_uuid(&text)).map(|id| id.to_string());
    permit(&call)?;
    listed(call, Asked { endpoint_id, resource, ..asked }).await
}

async fn listed(call: Call, asked: Asked) -> Answered {
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let pump = context.pump.clone();
    let told = context.aside(tenant_id, move |read| {
        let page = WEBHOOKS.deliveries(read, &pump, tenant_id.0, &asked)?;
        let (deliveries, next_before) = (page.items, page.next_before);
        Ok(Answer::value(
            200,
            &json!({"deliveries": deliveries, "truncated": page.is_truncated, "next_before": next_before}),
        ))
    });
    Ok(told.await.map_err(refusal_of)?)
}

pub(super) async fn redeliver(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    permit(&change.call)?;
    let DeliveryNumber(id) = change.call.segment(DELIVERY.name).ok_or(Refusal::NotFound)?;
    let actor = change.call.caller.actor.clone();
    let sent = change.write(move |tx, now| {
        let delivery = manage::redeliver(tx, now, &actor, id)?;
        let record = WEBHOOKS.write_delivery(tx, actor.tenant_id.0, &delivery, DeliveryState::Pending)?;
        Ok(Answer::value(202, &record))
    });
    sent.await
}
