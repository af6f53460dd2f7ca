//! Writing the quotas in force.

use quintet_platform::clock::rfc3339;
use quintet_storage::Timestamp;
use serde_json::{Map, Value, json};

use crate::allowances::calendar::{Calendar, Hours};
use crate::allowances::model::InForce;
use crate::wire::cores;

/// The quotas in force.
pub(crate) fn write_quotas(now: Timestamp, in_force: &InForce) -> Value {
    let quotas = &in_force.quotas;
    json!({
        "max_concurrent_runs": quotas.max_concurrent_runs, "max_daily_runs": quotas.max_daily_runs,
        "max_timeout_seconds": quotas.max_timeout_seconds, "max_queue_seconds": quotas.max_queue_seconds,
        "working_hours_tjp": in_force.working_hours_tjp,
        "working_hours_effective": in_force.hours.0.as_deref().map(|calendar| working_hours(now, calendar)),
        "max_nodes_per_workflow": quotas.max_nodes_per_workflow,
        "max_concurrent_workflows": quotas.max_concurrent_workflows,
        "max_webhook_payload_bytes": quotas.max_webhook_payload_bytes, "max_cpu": cores(quotas.max_cpu_millicores),
        "max_memory_mb": quotas.max_memory_mb, "default_timeout_seconds": quotas.default_timeout_seconds,
        "default_cpu": cores(quotas.default_cpu_millicores), "default_memory_mb": quotas.default_memory_mb,
        "retention_days": quotas.retention_days, "stop_grace_seconds": quotas.stop_grace_seconds,
        "max_webhook_endpoints": quotas.max_webhook_endpoints, "max_image_mb": quotas.max_image_mb,
    })
}

/// A calendar as it holds.
fn working_hours(now: Timestamp, calendar: &Calendar) -> Value {
    let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    let hours = |hours: &Hours| json!({"from": clock(hours.from_minute), "until": clock(hours.until_minute)});
    let day = |(day, open): (&str, &[Hours])| (day.to_owned(), open.iter().map(hours).collect::<Value>());
    let leave = |(from, until)| json!({"from": rfc3339(from), "until": rfc3339(until)});
    json!({
        "shift": calendar.id(), "name": calendar.name(), "timezone": calendar.time_zone(),
        "week": calendar.week().map(day).collect::<Map<_, _>>(), "leaves": calendar.leaves().map(leave).collect::<Value>(),
        "is_open": calendar.is_open(now), "next_open": rfc3339(calendar.next_open(now)),
    })
}
