//! The rules of deliveries to endpoints, the heads of attempts, and what a death leads to.

use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use quintet_storage::{Failure, Snapshot, Timestamp, WriteTx};
use uuid::Uuid;

use super::envelope::Event;
use super::model::{DEGRADED, Deed, DisabledReason, Endpoint, EndpointKey};
use super::room::Webhooks;
use crate::access::Service;
use crate::clock::rfc3339;
use crate::deliveries::{
    Attempt, Attempted, DeliveryRoom, Destination, Health, Outbox, Policy, Settled, Target, Verdict, hmac_sha256,
    note_notice,
};
use crate::egress::authority_of;
use crate::json::Json;

/// Deliveries given up within a day at which a notice goes out, and at which an endpoint is disabled.
const DEADS_OF_NOTICE: usize = 5;
const DEADS_OF_DISABLING: usize = 20;

/// The rules of all deliveries to endpoints, and of those to addresses of their own.
pub static RULES: Policy = Policy {
    delays: &[
        Duration::from_secs(10),
        Duration::from_secs(60),
        Duration::from_secs(5 * 60),
        Duration::from_secs(30 * 60),
        Duration::from_secs(3600),
    ],
    jitter_permille: 100,
    retry_after_max: Duration::from_secs(3600),
    is_retried: |status| matches!(status, 408 | 429) || !(400..500).contains(&status),
    lane_in_flight_max: 4,
    outbox_in_flight_max: 64,
    connect_time: Duration::from_secs(5),
    whole_time: Duration::from_secs(15),
};

const NAMES: [HeaderName; 7] = [
    HeaderName::from_static("content-type"),
    HeaderName::from_static("user-agent"),
    HeaderName::from_static("x-svc-event"),
    HeaderName::from_static("x-svc-event-id"),
    HeaderName::from_static("x-svc-delivery"),
    HeaderName::from_static("x-svc-attempt"),
    HeaderName::from_static("x-svc-timestamp"),
];
const SIGNATURE: HeaderName = HeaderName::from_static("x-svc-signature");
/// Standard Webhooks: so that its verifiers take what is signed.
const STANDARD: [HeaderName; 3] = [
    HeaderName::from_static("webhook-id"),
    HeaderName::from_static("webhook-timestamp"),
    HeaderName::from_static("webhook-signature"),
];

impl DeliveryRoom for Webhooks {
    fn service(&self) -> Service {
        self.service
    }

    fn policy(&self) -> &Policy {
        &RULES
    }

    fn destination(&self, read: &Snapshot, outbox: Outbox, endpoint_id: Uuid) -> Result<Destination, Failure> {
        let key = EndpointKey { tenant_id: outbox.tenant_id, endpoint_id };
        Ok(match self.open(read, key)? {
            Some((endpoint, Some(key))) if endpoint.disabled.is_none() => {
                Destination::At { url: endpoint.url, key: Some(key) }
            }
            Some((_, Some(_))) => Destination::Inactive,
            Some((_, None)) | None => Destination::Gone,
        })
    }

    fn head(&self, attempt: &Attempt<'_>) -> HeaderMap {
        let delivery = attempt.delivery;
        let event_id = (self.write_id)(delivery.event_id);
        let timestamp = attempt.timestamp.to_string();
        let values = [
            "application/json".to_owned(),
            concat!("quintet/", env!("CARGO_PKG_VERSION")).to_owned(),
            delivery.event.clone(),
            event_id.clone(),
            delivery.id.to_string(),
            attempt.number.to_string(),
            timestamp.clone(),
        ];
        let mut head = HeaderMap::new();
        let mut insert = |name: HeaderName, value: &str| {
            // Numbers, ids and names of events: none has what a header cannot hold.
            if let Ok(value) = HeaderValue::try_from(value) {
                head.insert(name, value);
            }
        };
        for (name, value) in NAMES.into_iter().zip(&values) {
            insert(name, value);
        }
        let Some(key) = attempt.key else {
            insert(SIGNATURE, "none");
            return head;
        };
        let own = hmac_sha256(key, &[timestamp.as_bytes(), b".", attempt.body]);
        insert(SIGNATURE, &format!("sha256={}", HEXLOWER.encode(&own)));
        let parts: [&[u8]; 5] = [event_id.as_bytes(), b".", timestamp.as_bytes(), b".", attempt.body];
        let standard = format!("v1,{}", BASE64.encode(&hmac_sha256(key, &parts)));
        for (name, value) in STANDARD.into_iter().zip([event_id.as_str(), &timestamp, &standard]) {
            insert(name, value);
        }
        head
    }

    fn settled(&self, tx: &mut WriteTx<'_>, now: Timestamp, settled: &Settled<'_>) -> Result<(), Failure> {
        let (Verdict::Dead, Some((endpoint_id, before, after))) = (settled.verdict, settled.health) else {
            return Ok(());
        };
        let key = EndpointKey { tenant_id: settled.outbox.tenant_id, endpoint_id };
        let Some(endpoint) = self.find(tx, key)? else { return Ok(()) };
        let deads = after.dead_of_a_day(now);
        if after.is_worth_a_notice(before, now, DEADS_OF_NOTICE) {
            let is_told = self.notify(tx, now, key, &endpoint, after, settled)?;
            note_notice(tx, settled.outbox, endpoint_id, is_told.then_some(now))?;
        }
        let is_hopeless = deads >= DEADS_OF_DISABLING && !after.has_delivered_within_a_day(now);
        if is_hopeless && endpoint.disabled.is_none() {
            let disabled = Some(DisabledReason::DeadWithoutSuccess);
            let endpoint = Endpoint { disabled, updated_at: now, ..endpoint };
            self.put(tx, key, &endpoint, None)?;
            (self.record)(tx, now, key.tenant_id, Deed::Disabled(endpoint_id, &endpoint))?;
        }
        Ok(())
    }
}

impl Webhooks {
    /// Tells the tenant's other endpoints that one is in a bad way; whether any could be told.
    fn notify(
        &self,
        tx: &mut WriteTx<'_>,
        now: Timestamp,
        EndpointKey { tenant_id, endpoint_id }: EndpointKey,
        endpoint: &Endpoint,
        health: &Health,
        settled: &Settled<'_>,
    ) -> Result<bool, Failure> {
        let mut listeners = Vec::new();
        for one in self.listeners(tx, tenant_id, self.degraded)? {
            // One for which much waits is told nothing beyond what happens, and nobody else is kept from it.
            let is_other = one.endpoint_id != endpoint_id;
            if is_other && self.has_room(tx, tenant_id, Target::Endpoint(one.endpoint_id))? {
                listeners.push(one);
            }
        }
        if listeners.is_empty() {
            return Ok(false);
        }
        let status = match settled.attempted {
            Attempted::Answered { status, .. } => Json::from(u64::from(status)),
            _ => Json::Null,
        };
        let deads = u64::try_from(health.dead_of_a_day(now)).unwrap_or(u64::MAX);
        let error = settled.delivery.last_error.map_or(Json::Null, |error| error.name().into());
        let id = (self.write_id)(endpoint_id);
        let members = [
            ("endpoint_id", Json::from(id.as_str())),
            ("url", origin_of(&endpoint.url).into()),
            ("dead_deliveries_24h", deads.into()),
            ("dead_deliveries_total", health.dead_total.into()),
            ("consecutive_failures", health.consecutive_failures.into()),
            ("last_dead_delivery_at", health.last_dead_at.map_or(Json::Null, |at| rfc3339(at).into())),
            ("last_status_code", status),
            ("last_error", error),
        ];
        let event = Event {
            event_id: tx.new_id(),
            name: DEGRADED.to_owned(),
            occurred_at: now,
            tenant_id,
            resource_type: "webhook_endpoint",
            resource_id: id,
            data: Json::object(members),
        };
        let kept_days = (self.terms)(tx, tenant_id)?.kept_days;
        let envelope = self.envelope_for(tx, &event, listeners.len())?;
        self.tell(tx, &event, &envelope, &listeners, kept_days)?;
        Ok(true)
    }
}

/// Scheme, host and port of an address. What is behind those may be a secret, and an endpoint is told of others.
fn origin_of(url: &str) -> String {
    let uri = url.parse::<Uri>().unwrap_or_default();
    let scheme = uri.scheme().unwrap_or(&Scheme::HTTPS);
    format!("{scheme}://{}", authority_of(&uri).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_others_are_told_who_is_called_there() {
        for (url, origin) in [
            ("https://hooks.example.com/T0/B0/token", "https://hooks.example.com:443"),
            ("https://hooks.example.com:8443?key=token", "https://hooks.example.com:8443"),
            ("http://127.0.0.1:9/token", "http://127.0.0.1:9"),
            ("https://[2001:db8::1]/token", "https://[2001:db8::1]:443"),
        ] {
            assert_eq!(origin_of(url), origin, "{url}");
        }
    }
}
