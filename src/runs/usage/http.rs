//! What a key allows and what has been used, over HTTP.

use quintet_platform::service::{Answer, Endpoint, Route, failed, json as success};
use quintet_storage::Timestamp;
use serde_json::{Value, json};

use super::{Usage, usage};
use crate::dialect::{Answered, Call, Runs};
use crate::refusal::Refusal;
use crate::wire::{at, cores};

const GET: Route = Route::get("get_usage", "/api/v1/usage")
    .permission("svc_run_read")
    .summary("What the key allows, and what has been used of it")
    .successes(&[success(200, "Usage")]);

pub(crate) const ENDPOINTS: &[Endpoint<Runs>] = &[Endpoint::new(&GET, |call| Box::pin(get(call)))];

async fn get(call: Call) -> Answered {
    let (read, now) = call.context.store.read_now(call.now());
    let used = usage(&call.context, &read, now, &call.caller).map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(Answer::value(200, &write_usage(&used)))
}

/// What a key allows, and what has been used.
fn write_usage(used: &Usage) -> Value {
    let Usage { quotas, terms, meter, load, submitted, .. } = used;
    let policy = |name: &str, used: Option<u64>, limit: u64, resets_at: Option<Timestamp>| {
        json!({
            "policy": name, "used": used, "limit": limit, "remaining": used.map(|used| limit.saturating_sub(used)),
            "resets_at": at(resets_at),
        })
    };
    let mut policies = vec![
        policy("daily_runs", Some(*submitted), quotas.max_daily_runs, Some(used.midnight)),
        policy("concurrent_runs", Some(load.busy), quotas.max_concurrent_runs, None),
        policy("image_mb", Some(used.image_bytes.div_ceil(1 << 20)), quotas.max_image_mb, None),
    ];
    policies
        .extend(terms.metered_seconds.map(|most| policy("metered_seconds", Some(meter.spent_seconds()), most, None)));
    let calls = used.calls.monthly_calls;
    policies.extend(calls.map(|most| policy("monthly_calls", Some(used.calls_used), most, Some(used.next_month))));
    let rate = used.calls.burst_per_second.map(u64::from);
    policies.extend(rate.map(|most| policy("calls_per_second", None, most, None)));
    json!({
        "tier": terms.tier, "metered": terms.metered_seconds.is_some(),
        "limits": {
            "memory_limit_mb": quotas.max_memory_mb, "cpu_cores": cores(quotas.max_cpu_millicores),
            "timeout_seconds": quotas.max_timeout_seconds, "concurrent_runs": quotas.max_concurrent_runs,
            "daily_runs": quotas.max_daily_runs, "workflow_nodes": quotas.max_nodes_per_workflow,
            "retention_days": terms.retention_days(quotas.retention_days),
        },
        "allowed_images": terms.allowed_images, "expires_at": at(used.expires_at), "usage": policies,
        "webhooks": {
            "endpoints": used.endpoints.0, "endpoints_disabled": used.endpoints.1,
            "pending_deliveries": used.deliveries.pending, "dead_deliveries_total": used.deliveries.dead_total,
        },
    })
}
