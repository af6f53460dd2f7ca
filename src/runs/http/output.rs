//! What answers say: the shapes of the contract.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_storage::Timestamp;
use serde_json::{Map, Value, json};

use crate::allowances::calendar::{Calendar, Hours};
use crate::allowances::model::InForce;
use crate::containers::model::{Description, LastWords, Reason, Run, RunResult};
use crate::containers::queue::{BlockedBy, Scheduling};
use crate::model::RunId;
use crate::usage::Usage;

/// An instant, or null.
fn at(instant: Option<Timestamp>) -> Value {
    instant.map_or(Value::Null, |instant| rfc3339(instant).into())
}

/// Microseconds as seconds.
fn seconds(micros: u64) -> Value {
    // Milliseconds are what anybody can make use of; a float holds them exactly enough.
    json!((micros / 1000) as f64 / 1000.0)
}

fn cores(millicores: u64) -> Value {
    json!(millicores as f64 / 1000.0)
}

/// The answer to a submission.
pub(super) fn submitted(run_id: RunId, run: &Run) -> Value {
    json!({
        "track_id": ulid(run_id.0), "status": run.state.name(), "eligible_start": rfc3339(run.eligible_start),
        "clamped": run.clamped,
    })
}

/// A run.
pub(super) fn run(
    now: Timestamp,
    run_id: RunId,
    run: &Run,
    description: Option<&Description>,
    scheduling: &Scheduling,
) -> Value {
    let env: Map<String, Value> = description
        .map(|description| description.env_names.iter().map(|name| (name.clone(), json!("***"))).collect())
        .unwrap_or_default();
    json!({
        "track_id": ulid(run_id.0), "name": run.name, "tags": run.tags, "image": run.image,
        "image_digest": run.image_digest, "command": description.map(|description| &description.command),
        "env": env, "state": run.state.name(), "reason": run.reason.map(Reason::name),
        "message": run.message, "exit_code": run.exit_code,
        "cpu_limit": cores(u64::from(run.limits.cpu_millicores)), "memory_limit_mb": run.limits.memory_mb,
        "timeout_seconds": run.limits.timeout_seconds, "clamped": run.clamped,
        "scheduled_start": at(run.scheduled_start), "expires_at": at(run.expires_at),
        "submitted_at": rfc3339(run.submitted_at), "queued_at": at(run.queued_at), "pulling_at": at(run.pulling_at),
        "started_at": at(run.started_at), "paused_at": at(run.paused_at), "finished_at": at(run.finished_at),
        "paused_seconds": seconds(run.paused_micros_at(now)),
        "workflow_id": run.workflow_id.map(ulid), "node_ref": run.node_ref,
        "attempt": run.attempt,
        "scheduling_info": {
            "eligible_start": rfc3339(scheduling.start.0), "working_hours_applied": scheduling.start.1,
            "queue_position": scheduling.position, "estimated_start": at(scheduling.estimated_start),
            "blocked_by": scheduling.blocked_by.map(BlockedBy::name),
        },
    })
}

/// How a run ended.
pub(super) fn result(run_id: RunId, run: &Run, result: &RunResult, words: &LastWords) -> Value {
    let output: Option<Value> = words.output.as_deref().and_then(|text| serde_json::from_str(text).ok());
    json!({
        "track_id": ulid(run_id.0), "state": run.state.name(), "reason": run.reason.map(Reason::name),
        "message": run.message, "exit_code": run.exit_code, "signal": result.signal, "oom_killed": result.oom_killed,
        "started_at": at(run.started_at), "finished_at": at(run.finished_at),
        "duration_seconds": seconds(result.duration_micros), "paused_seconds": seconds(result.paused_micros),
        "stdout_bytes": result.stdout_bytes, "stderr_bytes": result.stderr_bytes,
        "stdout_truncated": result.stdout_truncated, "stderr_truncated": result.stderr_truncated,
        "result_summary": words.summary, "output": output,
        "peak_memory_mb": result.peak_memory_bytes.div_ceil(1 << 20), "cpu_seconds": seconds(result.cpu_micros),
    })
}

/// What a container used.
pub(super) fn utilization(run_id: RunId, samples: &[quintet_runtime::Sample]) -> Value {
    let sample = |sample: &quintet_runtime::Sample| {
        json!({
            "ts": rfc3339(Timestamp::from_micros(sample.at_micros)),
            "state": if sample.paused { "paused" } else { "running" },
            "cpu_percent": (sample.cpu_percent * 10.0).round() / 10.0,
            "memory_mb": sample.memory_bytes.div_ceil(1 << 20), "memory_limit_mb": sample.memory_limit_bytes >> 20,
            "pids": sample.pids, "io_read_bytes": sample.io_read_bytes, "io_write_bytes": sample.io_write_bytes,
        })
    };
    json!({"track_id": ulid(run_id.0), "samples": samples.iter().map(sample).collect::<Vec<_>>()})
}

/// The quotas in force.
pub(crate) fn quotas(now: Timestamp, in_force: &InForce) -> Value {
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
        "max_webhook_endpoints": quotas.max_webhook_endpoints,
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

/// What a key allows, and what has been used.
pub(super) fn usage(used: &Usage) -> Value {
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
    })
}
