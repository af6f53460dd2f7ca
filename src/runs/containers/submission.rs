//! Submitting a run.

use quintet_storage::{Abort, Read, Timestamp, Uuid, WriteTx};

use super::changes::change;
use super::model::{Class, Run, RunLimits, Secrets, Webhook};
use super::{descriptions, loads};
use crate::allowances::model::{InForce, KeyTerms, Quotas};
use crate::allowances::{Ceilings, days, meters, quotas, terms};
use crate::events::Events;
use crate::model::{RunId, TenantId};
use crate::refusal::Refusal;
use crate::states::{Actor, RunState};

/// Runs of a tenant that may wait for a slot or their time. They stay for as long as that takes, with commands and
/// environments.
const WAITING_MAX: u64 = 100_000;

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
    let terms = terms::of(tx, asked.key_id.as_deref().unwrap_or_default())?;
    if !terms::allow_image(&terms, &asked.image) {
        return Err(Refusal::ImageNotAllowed.into());
    }
    check_waiting(tx, tenant_id, 1)?;
    days::charge(tx, now, tenant_id, 1, in_force.quotas.max_daily_runs)?;
    make(tx, now, tenant_id, &in_force, &terms, asked, None)
}

/// Whether so many more runs of a tenant may wait.
pub(crate) fn check_waiting(read: &impl Read, tenant_id: TenantId, more: usize) -> Result<(), Abort<Refusal>> {
    let load = loads::of(read, tenant_id)?;
    let more = u64::try_from(more).unwrap_or(u64::MAX);
    if (load.waiting + load.deferred).saturating_add(more) > WAITING_MAX {
        return Err(Refusal::LimitReached("the most runs of a tenant that wait", WAITING_MAX).into());
    }
    Ok(())
}

/// Which attempt of which node a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) workflow_id: Uuid,
    pub(crate) node_ref: String,
    /// From 1.
    pub(crate) number: u32,
}

/// Makes the run of an attempt at a node: the day was charged and the image looked at when its workflow was submitted. A
/// metered key pays for it now.
pub(crate) fn launch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    asked: Submit,
    attempt: Attempt,
) -> Result<(RunId, Run), Abort<Refusal>> {
    let in_force = quotas::in_force(tx, tenant_id)?;
    let terms = terms::of(tx, asked.key_id.as_deref().unwrap_or_default())?;
    make(tx, now, tenant_id, &in_force, &terms, asked, Some(attempt))
}

fn make(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    in_force: &InForce,
    terms: &KeyTerms,
    asked: Submit,
    attempt: Option<Attempt>,
) -> Result<(RunId, Run), Abort<Refusal>> {
    let quotas = &in_force.quotas;
    let by = if attempt.is_some() { Actor::Workflow } else { Actor::Api };
    let (limits, clamped) = limits(&asked, quotas);
    let (eligible_start, working_hours_applied) =
        in_force.hours.start(asked.scheduled_start.map_or(now, |start| start.max(now)));
    let queue_seconds = i64::try_from(quotas.max_queue_seconds).unwrap_or(i64::MAX);
    let run_id = RunId(tx.new_id());
    let key_id = asked.key_id.unwrap_or_default();
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
        workflow_id: attempt.as_ref().map(|attempt| attempt.workflow_id),
        attempt: attempt.as_ref().map_or(1, |attempt| attempt.number),
        node_ref: attempt.map(|attempt| attempt.node_ref),
        events: 0,
        asked_events: Some(asked.webhook.as_ref().map_or_else(Events::default, Webhook::asked)),
    };
    let run_key = (tenant_id, run_id);
    meters::charge(tx, run_key, &key_id, terms, limits.timeout_seconds)?;
    if !descriptions::put(tx, run_key, asked.command, asked.webhook, &asked.secrets)? {
        // A tenant's key is never destroyed while its runs are accepted.
        return Err(Refusal::NotFound.into());
    }
    let run = change(tx, now, by, run_key, None, run)?;
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
