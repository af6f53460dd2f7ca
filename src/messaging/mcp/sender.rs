//! What the server finds of a sender. Whoever does not believe the server compares for himself, with the client.

use quintet_platform::json::Json;
use quintet_platform::mcp::{Ended, Steps, Told};

use super::given::{Given, member, read};
use crate::dialect::Messaging;

pub(super) const INPUT: &str = r#"{"properties": {
    "delivery_id": {"type": "string", "description": "The delivery, or the message"}
}, "required": ["delivery_id"]}"#;

/// What stands in the answer of the record of a delivery.
const TOLD: [&str; 9] = [
    "delivery_id",
    "message_id",
    "subject",
    "sender_display",
    "sender_address",
    "sender_agent_name",
    "direction",
    "body_sha256",
    "provenance",
];

const NOTE: &str = "This is the server's own verdict: it compared the signature with the keys that are published here. \
    Who wants to rely on no server compares with the sender's key: agentbus verify-sender";

/// Marks nothing read: who asks whom it is from has not read it.
pub(super) async fn verify(steps: &Steps<'_, Messaging>, arguments: Vec<(String, Json)>) -> Ended<Messaging> {
    let mut given = Given::of(arguments, &["delivery_id"])?;
    let asked = given.take("delivery_id").map(|id| ("delivery_id".to_owned(), id));
    let record = read(&steps.look("GET /v1/deliveries/{delivery_id}", asked.into_iter().collect()).await?)?;
    let signature = record.get("provenance").and_then(|provenance| provenance.get("signature"));
    let state = signature.map_or(Json::Null, |signature| member(signature, "state"));
    let mut told: Vec<(&str, Json)> = TOLD.into_iter().map(|name| (name, member(&record, name))).collect();
    told.extend([
        ("verified", Json::from(state.as_str() == Some("valid"))),
        ("signature_state", state),
        ("verdict_by", Json::from("server")),
        ("note", Json::from(NOTE)),
    ]);
    Ok(Told::value(&Json::object(told)))
}
