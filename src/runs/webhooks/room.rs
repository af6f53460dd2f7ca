//! What is of runs alone in their webhooks: events, tables, terms.

use quintet_platform::access::Service;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::webhooks::{Terms, Webhooks};
use quintet_storage::{Failure, Uuid, WriteTx};

use super::shorten::shorten;
use super::tables::{ENDPOINTS, SUBSCRIPTIONS};
use crate::allowances::quotas;
use crate::events::{DEGRADED_EVENT, Events};
use crate::model::TenantId;

/// The webhooks of runs.
pub const WEBHOOKS: Webhooks = Webhooks {
    service: Service::Runs,
    endpoints: &ENDPOINTS,
    subscriptions: &SUBSCRIPTIONS,
    asked_by: |pattern| Events::asked_by(pattern).map(|events| events.0),
    degraded: DEGRADED_EVENT.0,
    terms,
    shorten,
    // Of runs there is no chain of what was done.
    record: |_, _, _, _| Ok(()),
    write_id: ulid,
    read_id: parse_ulid,
};

fn terms(tx: &WriteTx<'_>, tenant_id: Uuid) -> Result<Terms, Failure> {
    let quotas = quotas::of_telling(tx, TenantId(tenant_id))?;
    Ok(Terms { body_bytes_max: quotas.max_webhook_payload_bytes, kept_days: quotas.retention_days })
}
