//! Submitting a run.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::changes::change;
use super::descriptions;
use super::model::{Class, Run, RunLimits, Secrets, Webhook};
use crate::allowances::model::Quotas;
use crate::allowances::{Ceilings, days, meters, quotas, terms};
use crate::events::Events;
use crate::model::{RunId, TenantId};
use crate::refusal::Refusal;
use crate::states::{Actor, RunState};

/// A run as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Submit {
    pub(crate) image: String,
    pub(crate) command: Vec<String>,
    pub(crate) secrets: Secrets,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) cpu_millicores: Option<u64>,
    pub(crate) memory_mb: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) scheduled_start: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) webhook: Option<Webhook>,
    /// The key that asks.
    pub(crate) key_id: Option<String>,
}

/// Accepts a run: never refused for want of a slot, only for what its key allows and for the day's quota.
pub(crate) fn submit(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    ceilings: &Ceilings,
    asked: Submit,
) -> Result<(RunId, Run), Abort<Refusal>> {
    let in_force = quotas::effective(tx, tenant_id, ceilings)?;
    let quotas = &in_force.quotas;
    let key_id = asked.key_id.clone().unwrap_or_default();
    let terms = terms::of(tx, &key_id)?;
    if !terms::allow_image(&terms, &asked.image) {
        return Err(Refusal::ImageNotAllowed.into());
    }
    days::charge(tx, now, tenant_id, quotas.max_daily_runs)?;
    let (limits, clamped) = limits(&asked, quotas);
    let (eligible_start, working_hours_applied) =
        in_force.hours.start(asked.scheduled_start.map_or(now, |start| start.max(now)));
    let queue_seconds = i64::try_from(quotas.max_queue_seconds).unwrap_or(i64::MAX);
    let run_id = RunId(tx.new_id());
    let run = Run {
        state: RunState::Scheduled,
        reason: None,
        message: None,
        name: asked.name,
        tags: asked.tags,
        image: asked.image,
        image_digest: None,
        limits,
        clamped,
        scheduled_start: asked.scheduled_start,
        eligible_start,
        working_hours_applied,
        class: if asked.scheduled_start.is_some_and(|start| start > now) { Class::Deferred } else { Class::Ordinary },
        expires_at: asked.expires_at,
        queue_deadline: eligible_start.plus_seconds(queue_seconds),
        retention_days: terms.retention_days(quotas.retention_days),
        submitted_at: now,
        queued_at: None,
        pulling_at: None,
        started_at: None,
        paused_at: None,
        finished_at: None,
        paused_micros: 0,
        exit_code: None,
        starts: 0,
        is_stopping: false,
        workflow_id: None,
        node_ref: None,
        attempt: 1,
        events: 0,
        asked_events: Some(asked.webhook.as_ref().map_or_else(Events::default, Webhook::asked)),
    };
    let run_key = (tenant_id, run_id);
    meters::charge(tx, run_key, &key_id, &terms, limits.timeout_seconds)?;
    if !descriptions::put(tx, run_key, asked.command, asked.webhook, &asked.secrets)? {
        // A tenant's key is never destroyed while its runs are accepted.
        return Err(Refusal::NotFound.into());
    }
    let run = change(tx, now, Actor::Api, run_key, None, run)?;
    Ok((run_id, run))
}

/// What a run may take, and whether that is less than was asked for.
fn limits(asked: &Submit, quotas: &Quotas) -> (RunLimits, bool) {
    let (timeout_seconds, is_long) =
        clamp(asked.timeout_seconds, quotas.default_timeout_seconds, quotas.max_timeout_seconds);
    let (cpu, is_fast) = clamp(asked.cpu_millicores, quotas.default_cpu_millicores, quotas.max_cpu_millicores);
    let (memory_mb, is_large) = clamp(asked.memory_mb, quotas.default_memory_mb, quotas.max_memory_mb);
    let limits = RunLimits {
        cpu_millicores: u32::try_from(cpu).unwrap_or(u32::MAX),
        memory_mb,
        timeout_seconds,
        grace_seconds: quotas.stop_grace_seconds,
    };
    (limits, is_long || is_fast || is_large)
}

/// What is given, and whether that is less than was asked for.
fn clamp(asked: Option<u64>, default: u64, most: u64) -> (u64, bool) {
    let wanted = asked.unwrap_or(default);
    (wanted.min(most), wanted > most)
}
