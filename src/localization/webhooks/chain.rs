//! What the audit chain is told of endpoints and deliveries. Addresses and secrets are not in it: nothing can be taken out of
//! the chain, and an address may have a secret in itself.

use http::Uri;
use quintet_platform::egress::authority_of;
use quintet_platform::json::Json;
use quintet_platform::webhooks::{Deed, Endpoint};
use quintet_storage::{Failure, Timestamp, Uuid, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::model::TenantId;

/// What the chain says when an endpoint was changed.
pub(super) const UPDATE: &str = "webhook.update";
/// What it says when an endpoint got a new secret, and nothing else.
pub(super) const ROTATE: &str = "webhook.rotate_secret";
/// What it says when an endpoint was tried.
pub(super) const TEST: &str = "webhook.test";
/// What it says when an endpoint was disabled, for nothing arrived there.
const DISABLE: &str = "webhook.disable";

/// An event about an endpoint.
pub(super) fn about(action: &'static str, endpoint_id: Uuid) -> Event {
    Event::about(action, "webhook_endpoint", endpoint_id)
}

/// What is told of an endpoint as it stands.
pub(super) fn standing(endpoint: &Endpoint) -> [(&'static str, Json); 3] {
    let host = endpoint.url.parse::<Uri>().ok().and_then(|uri| authority_of(&uri)).unwrap_or_default();
    let events = endpoint.patterns.iter().map(|pattern| Json::from(pattern.as_str())).collect::<Vec<_>>();
    [("host", host.into()), ("events", events.into()), ("active", Json::Bool(endpoint.disabled.is_none()))]
}

/// A delivery was sent once more, under this number.
pub(super) fn redelivered(id: u64, again: u64) -> Event {
    Event {
        action: "webhook.redeliver",
        target_type: "webhook_delivery",
        target_id: id.to_string(),
        payload: Some(Json::object([("delivery_id", Json::from(again))])),
    }
}

/// Writes down what nobody of a tenant has done.
///
/// # Errors
/// The store's.
pub(super) fn record(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: Uuid, deed: Deed<'_>) -> Result<(), Failure> {
    let event = match deed {
        Deed::Enabled(endpoint_id, endpoint) => about(UPDATE, endpoint_id).with(standing(endpoint)),
        Deed::Tested(endpoint_id) => about(TEST, endpoint_id),
        Deed::Redelivered(id, again) => redelivered(id, again),
        Deed::Disabled(endpoint_id, endpoint) => about(DISABLE, endpoint_id).with(standing(endpoint)),
    };
    audit::record(tx, now, &Actor::operator(TenantId(tenant_id)), event).map(drop)
}
