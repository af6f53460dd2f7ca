//! Writing endpoints and deliveries.

use data_encoding::{BASE64, HEXLOWER};
use quintet_storage::{Failure, Read, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::model::{Endpoint, EndpointKey, SecretOrigin, SigningSecret};
use super::room::Webhooks;
use crate::clock::rfc3339;
use crate::deliveries::{Delivery, DeliveryState, End, Health, Target, health_of};

fn at(instant: Option<Timestamp>) -> Value {
    instant.map_or(Value::Null, |instant| rfc3339(instant).into())
}

impl Webhooks {
    /// An endpoint of which there is this health.
    #[must_use]
    pub fn write_endpoint(&self, now: Timestamp, endpoint_id: Uuid, endpoint: &Endpoint, health: &Health) -> Value {
        json!({
            "endpoint_id": (self.write_id)(endpoint_id), "url": endpoint.url, "events": endpoint.patterns,
            "description": endpoint.description, "secret_origin": endpoint.secret_origin.name(),
            "active": endpoint.disabled.is_none(), "disabled_reason": endpoint.disabled.map(|reason| reason.name()),
            "consecutive_failures": health.consecutive_failures, "dead_deliveries_total": health.dead_total,
            "dead_deliveries_24h": health.dead_of_a_day(now), "last_dead_delivery_at": at(health.last_dead_at),
            "last_delivered_at": at(health.last_delivered_at), "created_at": rfc3339(endpoint.created_at),
            "updated_at": rfc3339(endpoint.updated_at),
        })
    }

    /// An endpoint, and what its deliveries have come to.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn record(
        &self,
        read: &impl Read,
        now: Timestamp,
        key: EndpointKey,
        endpoint: &Endpoint,
    ) -> Result<Value, Failure> {
        let health = health_of(read, self.outbox(key.tenant_id), key.endpoint_id)?;
        Ok(self.write_endpoint(now, key.endpoint_id, endpoint, &health))
    }

    /// A delivery; one to an endpoint that nothing has been sent to yet with the endpoint's present address.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn write_delivery(
        &self,
        read: &impl Read,
        tenant_id: Uuid,
        delivery: &Delivery,
        state: DeliveryState,
    ) -> Result<Value, Failure> {
        let url = match (&delivery.url, delivery.target) {
            (None, Target::Endpoint(endpoint_id)) => {
                self.find(read, EndpointKey { tenant_id, endpoint_id })?.map(|endpoint| endpoint.url)
            }
            (url, _) => url.clone(),
        };
        let endpoint_id = match delivery.target {
            Target::Endpoint(id) => Some((self.write_id)(id)),
            Target::Inline => None,
        };
        let begun = delivery.attempts + u32::from(state == DeliveryState::Delivering);
        let delivered_at = delivery.settled_at.filter(|_| delivery.end == Some(End::Delivered));
        Ok(json!({
            "delivery_id": delivery.id, "event_id": (self.write_id)(delivery.event_id),
            "event_type": delivery.event, "endpoint_id": endpoint_id, "url": url, "state": state.name(),
            "attempt": begun, "max_attempts": delivery.attempts_max, "next_attempt_at": at(delivery.next_attempt_at),
            "last_status_code": delivery.last_status, "last_error": delivery.last_error.map(|error| error.name()),
            "created_at": rfc3339(delivery.created_at), "delivered_at": at(delivered_at),
            "redelivery_of": delivery.redelivery_of,
        }))
    }
}

/// An endpoint with its new secret, which is shown this once; one that the caller has is not shown.
#[must_use]
pub fn with_secret(mut record: Value, secret: &SigningSecret) -> Value {
    let key = secret.key.expose();
    let text = (secret.origin == SecretOrigin::Generated).then(|| HEXLOWER.encode(key));
    if let Value::Object(members) = &mut record {
        members.insert("secret".to_owned(), text.into());
        members.insert("standard_webhooks_secret".to_owned(), format!("whsec_{}", BASE64.encode(key)).into());
    }
    record
}
