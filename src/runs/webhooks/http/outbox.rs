//! Deliveries over HTTP.

use quintet_platform::deliveries::DeliveryState;
use quintet_platform::ids::parse_ulid;
use quintet_platform::service::{Answer, KeyRule, Parameter, Route, Segment, Shape, failed, json as success};
use quintet_platform::webhooks::DeliveryNumber;
use quintet_platform::webhooks::query::{Asked, BEFORE, SINCE, STATE, newest};
use quintet_storage::{Uuid, WriteTx};
use serde_json::json;

use super::super::manage::{NO_DELIVERY, NO_ENDPOINT, refused};
use super::super::room::WEBHOOKS;
use super::endpoints::{ENDPOINT, endpoint_key};
use crate::dialect::{Answered, Call, tenant_of};
use crate::refusal::Refusal;

const LIMIT: Parameter = newest(200);
const OF_ENDPOINT: Parameter = Parameter::new("endpoint_id", Shape::Ulid, "Deliveries to this endpoint.");
const OF_RESOURCE: Parameter =
    Parameter::new("resource_id", Shape::Text { min: 1, max: 256 }, "Deliveries that tell of this.");
/// The delivery that a path names.
const DELIVERY: Segment = Segment::new("delivery_id", Shape::integer(1, i64::MAX));

pub(super) const LIST: Route = Route::get("list_webhook_deliveries", "/api/v1/webhooks/{endpoint_id}/deliveries")
    .permission("svc_run_read")
    .summary("The newest deliveries to an endpoint, in the order of their numbers")
    .segments(&[ENDPOINT])
    .parameters(&[SINCE, BEFORE, LIMIT, STATE])
    .successes(&[success(200, "DeliveryPage")])
    .codes(&["busy"]);
pub(super) const LIST_ALL: Route = Route::get("list_deliveries", "/api/v1/webhooks/deliveries")
    .permission("svc_run_read")
    .summary("The newest deliveries of the tenant, also those of inline webhooks")
    .parameters(&[SINCE, BEFORE, LIMIT, STATE, OF_ENDPOINT, OF_RESOURCE])
    .successes(&[success(200, "DeliveryPage")])
    .codes(&["busy"]);
pub(super) const REDELIVER: Route =
    Route::post("redeliver_webhook", "/api/v1/webhooks/deliveries/{delivery_id}/redeliver")
        .permission("svc_run_submit")
        .summary("Send once more what has ended: the same event, under a new number")
        .segments(&[DELIVERY])
        .successes(&[success(202, "Delivery")])
        .key(KeyRule::Optional)
        .codes(&["invalid_state", "limit_reached"]);

pub(super) async fn list(call: Call) -> Answered {
    let key = endpoint_key(&call)?;
    let endpoint = WEBHOOKS.find(&call.snapshot(), key).map_err(|failure| failed::<Refusal>(&failure))?;
    endpoint.ok_or(NO_ENDPOINT)?;
    listed(call, Some(key.endpoint_id), None).await
}

pub(super) async fn list_all(mut call: Call) -> Answered {
    let endpoint_id = call.text(&OF_ENDPOINT)?.and_then(|text| parse_ulid(&text));
    let resource = call.text(&OF_RESOURCE)?;
    listed(call, endpoint_id, resource).await
}

async fn listed(mut call: Call, endpoint_id: Option<Uuid>, resource: Option<String>) -> Answered {
    let asked = Asked { endpoint_id, resource, ..Asked::read(&mut call, &LIMIT)? };
    let (context, tenant_id, read) = (call.context.clone(), tenant_of(&call).0, call.snapshot());
    let list = move || {
        let page = WEBHOOKS.deliveries(&read, &context.settings.pump, tenant_id, &asked)?;
        Ok(json!({"items": page.items, "truncated": page.is_truncated, "next_before": page.next_before}))
    };
    Ok(Answer::value(200, &call.in_turn(&call.context.lookers, list).await?))
}

pub(super) async fn redeliver(call: Call) -> Answered {
    let DeliveryNumber(id) = call.segment(DELIVERY.name).ok_or(NO_DELIVERY)?;
    let tenant_id = tenant_of(&call).0;
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let delivery = WEBHOOKS.redeliver(tx, now, tenant_id, id).map_err(refused)?;
        Ok(Answer::value(202, &WEBHOOKS.write_delivery(tx, tenant_id, &delivery, DeliveryState::Pending)?))
    };
    change.write(verb).await
}
