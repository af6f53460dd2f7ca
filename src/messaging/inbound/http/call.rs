//! The address that is called: whoever calls has no key, and proves by a signature that he may.

use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, Route, Segment, Shape, Visit, json as success};
use quintet_storage::Uuid;

use super::super::model::EndpointId;
use super::super::receive::{Arrived, NotTaken, receive};
use super::body;
use crate::dialect::{Answered, Messaging};
use crate::refusal::Refusal;

/// It is read here: what it cannot name is answered as what is not there.
const ENDPOINT: Segment = Segment::new("endpoint_id", Shape::ANY);

pub(super) const RECEIVE: Route = Route::post("receive_call", "/in/{endpoint_id}")
    .summary("Call an agent: a signed body becomes a message to it")
    .segments(&[ENDPOINT])
    .any_parameter()
    .body(Content::Media(&[("*/*", r#"{"type":"string","format":"binary"}"#)]))
    .successes(&[success(202, "InboundAccepted")])
    .codes(&[
        "agent_retired",
        "busy",
        "invalid_signature",
        "malformed_json",
        "payload_too_large",
        "permission_denied",
        "quota_exceeded",
        "request_timeout",
        "sealing_required",
        "workspace_deleted",
        "workspace_suspended",
    ]);

pub(super) async fn receive_call(mut visit: Visit<Messaging>) -> Answered {
    let (body, source) = (visit.take_body(), Uuid::from_u128(visit.source()));
    let taken = body::read(&visit.context, visit.headers(), body, source).await.map_err(Refusal::from)?;
    let named = visit.segment::<String>(ENDPOINT.name);
    let endpoint = named.and_then(|text| parse_ulid(&text)).map(EndpointId);
    let (headers, body) = (visit.headers().clone(), taken.bytes.clone());
    let arrived = Arrived { endpoint, headers, body, source, is_from_within: false };
    let delivery_id = receive(&visit.context, arrived).await.map_err(NotTaken::refusal)?;
    let told = Json::object([("delivery_id", Json::from(ulid(delivery_id)))]);
    Ok(Answer::json(202, to_compact(&told)))
}
