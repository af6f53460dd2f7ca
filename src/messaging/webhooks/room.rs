//! The rules of deliveries to webhooks, the heads of attempts, and what a failure leads to (6-messaging.md, O2, O3).

use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use http::{HeaderMap, HeaderName, HeaderValue};
use quintet_platform::access::Service;
use quintet_platform::deliveries::{
    Attempt, Attempted, DeliveryRoom, Destination, Outbox, Policy, Settled, Target, Verdict, hmac_sha256,
};
use quintet_platform::ids::ulid;
use quintet_storage::{Failure, Snapshot, Timestamp, Uuid, WriteTx};

use super::manage::disable;
use crate::identity::{Priority, Status, Workspace, mailboxes, workspaces};
use crate::mail::post::{Letter, post, system};
use crate::model::ThreadId;
use crate::telling::{Standing, Webhook, WebhookId, rows};

/// Failures in a row at which a webhook is disabled (the contract's limits).
const FAILURES_OF_DISABLING: u64 = 20;

/// The rules of all deliveries.
static RULES: Policy = Policy {
    delays: &[
        Duration::from_secs(10),
        Duration::from_secs(60),
        Duration::from_secs(5 * 60),
        Duration::from_secs(30 * 60),
        Duration::from_secs(3600),
    ],
    jitter_permille: 0,
    // What is waited is written down; nobody has it otherwise.
    retry_after_max: Duration::ZERO,
    is_retried: |_| true,
    lane_in_flight_max: 4,
    outbox_in_flight_max: 64,
    public_port: Some(443),
    connect_time: Duration::from_secs(5),
    whole_time: Duration::from_secs(15),
};

const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
const USER_AGENT: HeaderName = HeaderName::from_static("user-agent");
/// Standard Webhooks.
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// Messaging's own.
const X_AGENTBUS_TIMESTAMP: HeaderName = HeaderName::from_static("x-agentbus-timestamp");
const X_AGENTBUS_SIGNATURE: HeaderName = HeaderName::from_static("x-agentbus-signature");

/// The deliveries of messaging.
pub const DELIVERIES: Deliveries = Deliveries;

/// See [`DELIVERIES`].
#[derive(Clone, Copy, Debug)]
pub struct Deliveries;

impl DeliveryRoom for Deliveries {
    fn service(&self) -> Service {
        Service::Messaging
    }

    fn policy(&self) -> &Policy {
        &RULES
    }

    fn destination(&self, read: &Snapshot, outbox: Outbox, target: Uuid) -> Result<Destination, Failure> {
        let Some(key) = rows::by_target(read, target)? else { return Ok(Destination::Gone) };
        let Some(webhook) = rows::find(read, key)? else { return Ok(Destination::Gone) };
        let workspace = workspaces::find(read, key.0)?;
        if workspace.is_none_or(|workspace| workspace.status == Status::Deleted) {
            return Ok(Destination::Gone);
        }
        if webhook.disabled_at.is_some() {
            return Ok(Destination::Inactive);
        }
        Ok(match rows::secret(read, outbox.tenant_id, key)? {
            Some(key) => Destination::At { url: webhook.url, key: Some(key) },
            None => Destination::Gone,
        })
    }

    fn head(&self, attempt: &Attempt<'_>) -> HeaderMap {
        let (id, timestamp) = (ulid(attempt.delivery.event_id), attempt.timestamp.to_string());
        let key = attempt.key.unwrap_or_default();
        let standard: [&[u8]; 5] = [id.as_bytes(), b".", timestamp.as_bytes(), b".", attempt.body];
        let standard = format!("v1,{}", BASE64.encode(&hmac_sha256(key, &standard)));
        let own = hmac_sha256(key, &[timestamp.as_bytes(), b".", attempt.body]);
        let own = format!("v1={}", HEXLOWER.encode(&own));
        let fields = [
            (CONTENT_TYPE, "application/json"),
            (USER_AGENT, concat!("quintet/", env!("CARGO_PKG_VERSION"))),
            (WEBHOOK_ID, &id),
            (WEBHOOK_TIMESTAMP, &timestamp),
            (WEBHOOK_SIGNATURE, &standard),
            (X_AGENTBUS_TIMESTAMP, &timestamp),
            (X_AGENTBUS_SIGNATURE, &own),
        ];
        // Numbers, ids and digests: none has what a header cannot hold.
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?)));
        fields.collect()
    }

    fn settled(&self, tx: &mut WriteTx<'_>, now: Timestamp, settled: &Settled<'_>) -> Result<(), Failure> {
        let Target::Endpoint(target) = settled.delivery.target else { return Ok(()) };
        let Some(key) = rows::by_target(tx, target)? else { return Ok(()) };
        let (Some(webhook), Some(workspace)) = (rows::find(tx, key)?, workspaces::find(tx, key.0)?) else {
            return Ok(());
        };
        let mut standing = rows::standing(tx, key)?;
        if !matches!(settled.verdict, Verdict::Retry(_)) {
            standing.waiting = standing.waiting.saturating_sub(1);
        }
        match (settled.attempted, settled.verdict) {
            // There was nobody to call.
            (Attempted::Undeliverable(_), _) => {}
            (_, Verdict::Delivered) => {
                standing.consecutive_failures = 0;
                standing.last_delivered_at = Some(now);
            }
            (_, Verdict::Retry(_) | Verdict::Dead) => {
                standing.consecutive_failures = standing.consecutive_failures.saturating_add(1);
                standing.failures_total = standing.failures_total.saturating_add(1);
                standing.last_failed_at = Some(now);
            }
        }
        rows::put_standing(tx, key, standing)?;
        if standing.consecutive_failures < FAILURES_OF_DISABLING || webhook.disabled_at.is_some() {
            return Ok(());
        }
        let webhook = disable(tx, now, &workspace, (key.1, webhook))?;
        tell_of_end(tx, now, &workspace, (key.1, &webhook), standing)
    }
}

/// The agent of a webhook that was disabled, or the one that made it, hears of it.
fn tell_of_end(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    (id, webhook): (WebhookId, &Webhook),
    standing: Standing,
) -> Result<(), Failure> {
    let Some(agent) = webhook.agent.or(webhook.made_by) else { return Ok(()) };
    if workspace.status == Status::Deleted || mailboxes::get(tx, (workspace.no, agent))?.is_retired {
        return Ok(());
    }
    let id = ulid(id.0);
    let text = format!(
        "The webhook {id} at {} is disabled: {} attempts in a row failed. What waited for it is gone; the inbox has all of \
         it. Enable it with PATCH /v1/webhooks/{id} {{\"enabled\": true}}.",
        webhook.url, standing.consecutive_failures,
    );
    let nowhere = ThreadId(Uuid::nil());
    let letter = system(tx, workspace, nowhere, format!("Webhook disabled: {id}"), text, &[agent])?;
    let letter = Letter { thread: None, priority: Priority::Normal, ..letter };
    post(tx, now, workspace, letter).map(drop)
}
