//! What a key allows, and what has been used of it.

pub(crate) mod http;

use quintet_platform::access::{Caller, Service};
use quintet_platform::deliveries::{self, Counters};
use quintet_platform::metering::{Quota, find_quota};
use quintet_storage::{Failure, Snapshot, Timestamp};

use crate::allowances::model::{Meter, Quotas, next_midnight};
use crate::allowances::{KeyTerms, days, meters, quotas, terms};
use crate::containers::loads;
use crate::containers::model::Load;
use crate::context::Context;
use crate::images::naming;
use crate::model::TenantId;
use crate::webhooks::WEBHOOKS;
use crate::webhooks::model::outbox;

/// What a key allows, and what has been used of it.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    pub(crate) quotas: Quotas,
    pub(crate) terms: KeyTerms,
    pub(crate) meter: Meter,
    pub(crate) load: Load,
    /// Runs submitted today.
    pub(crate) submitted: u64,
    /// What images that count take, in bytes.
    pub(crate) image_bytes: u64,
    /// The next UTC midnight.
    pub(crate) midnight: Timestamp,
    /// When the key expires.
    pub(crate) expires_at: Option<Timestamp>,
    /// What the operator has set for calls.
    pub(crate) calls: Quota,
    /// Calls of this month.
    pub(crate) calls_used: u64,
    /// The first of the next month.
    pub(crate) next_month: Timestamp,
    /// How many endpoints of webhooks the tenant has, and how many of them are inactive.
    pub(crate) endpoints: (usize, usize),
    /// What its deliveries have come to.
    pub(crate) deliveries: Counters,
}

/// What a caller's key allows, and what has been used of it.
pub(crate) fn usage(context: &Context, read: &Snapshot, now: Timestamp, caller: &Caller) -> Result<Usage, Failure> {
    let tenant_id = TenantId(caller.tenant_id);
    let calls = context.meter.usage(read, Service::Runs, caller.root_tenant_id, now);
    let quotas = quotas::numbers(read, tenant_id, &context.settings.ceilings)?;
    Ok(Usage {
        image_bytes: naming::room(read, now, tenant_id, quotas.max_image_mb)?.taken_bytes,
        quotas,
        terms: terms::of(read, &caller.key_id)?,
        meter: meters::meter(read, &caller.key_id)?,
        load: loads::of(read, tenant_id)?,
        submitted: days::submitted(read, now, tenant_id)?,
        midnight: next_midnight(now),
        expires_at: caller.expires_at,
        calls: find_quota(read, caller.root_tenant_id, Service::Runs)?,
        calls_used: calls.calls,
        next_month: calls.ends_at,
        endpoints: WEBHOOKS.counts(read, tenant_id.0)?,
        deliveries: deliveries::counters(read, outbox(tenant_id))?,
    })
}
