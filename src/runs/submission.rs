//! Submitting a run.

use quintet_storage::seal::{self, KeyOwner};
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, WriteTx, encode_plain};

use crate::changes::{Place, change};
use crate::model::{Ceilings, RunId, RunLimits, RunState, TenantId, seconds_to_midnight, utc_day};
use crate::quotas;
use crate::refusal::Refusal;
use crate::tables::{DAYS, DEFERRED, DESCRIPTIONS, DayRow, DescriptionRow, ORDINARY, RunRow, Secrets, WebhookRow};
use crate::terms;

/// How many days the number of submissions is kept.
const DAYS_KEPT: i64 = 7;

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
    pub(crate) webhook: Option<WebhookRow>,
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
) -> Result<(RunId, RunRow), Abort<Refusal>> {
    let in_force = quotas::effective(tx, tenant_id, ceilings)?;
    let quotas = &in_force.quotas;
    let key_id = asked.key_id.unwrap_or_default();
    let terms = terms::of(tx, &key_id)?;
    if !terms.allows_image(&asked.image) {
        return Err(Refusal::ImageNotAllowed.into());
    }
    charge_day(tx, now, tenant_id, quotas.max_daily_runs)?;
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
    let (eligible_start, working_hours_applied) =
        in_force.hours.start(asked.scheduled_start.map_or(now, |start| start.max(now)));
    let queue_seconds = i64::try_from(quotas.max_queue_seconds).unwrap_or(i64::MAX);
    let run_id = RunId(tx.new_id());
    let row = RunRow {
        state: RunState::Scheduled,
        reason: None,
        message: None,
        name: asked.name,
        tags: asked.tags,
        image: asked.image,
        image_digest: None,
        limits,
        clamped: is_long || is_fast || is_large,
        scheduled_start: asked.scheduled_start,
        eligible_start,
        working_hours_applied,
        class: if asked.scheduled_start.is_some_and(|start| start > now) { DEFERRED } else { ORDINARY },
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
    };
    let place = (tenant_id, run_id);
    terms::charge(tx, place, &key_id, &terms, timeout_seconds)?;
    describe(tx, place, asked.command, asked.webhook, &asked.secrets)?;
    let row = change(tx, now, place, None, row, "run.scheduled")?;
    Ok((run_id, row))
}

/// Counts a run against the day's quota.
fn charge_day(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    max_daily_runs: u64,
) -> Result<(), Abort<Refusal>> {
    let day = utc_day(now);
    let DayRow { submitted } = tx.get(&DAYS, &(tenant_id, day))?.unwrap_or_default();
    if submitted >= max_daily_runs {
        return Err(Refusal::DailyQuota(seconds_to_midnight(now)).into());
    }
    if submitted == 0 {
        let old = Scan::prefix(&(tenant_id,)).until(&(tenant_id, day - DAYS_KEPT)).limit(10);
        for (key, _) in tx.scan(&DAYS, old)? {
            tx.delete(&DAYS, &key);
        }
    }
    tx.put(&DAYS, &(tenant_id, day), &DayRow { submitted: submitted + 1 })?;
    Ok(())
}

/// What is given, and whether that is less than was asked for.
fn clamp(asked: Option<u64>, default: u64, most: u64) -> (u64, bool) {
    let wanted = asked.unwrap_or(default);
    (wanted.min(most), wanted > most)
}

fn describe(
    tx: &mut WriteTx<'_>,
    place: Place,
    command: Vec<String>,
    webhook: Option<WebhookRow>,
    secrets: &Secrets,
) -> Result<(), Abort<Refusal>> {
    let env_names = secrets.env.iter().map(|(name, _)| name.clone()).collect();
    let sealed = if *secrets == Secrets::default() {
        None
    } else {
        let plain = encode_plain(secrets)?;
        let sealed = seal::seal(tx, KeyOwner::Tenant(place.0.0), &DESCRIPTIONS, &place, &plain);
        Some(sealed.map_err(|abort| unsealable(&abort))?)
    };
    tx.put(&DESCRIPTIONS, &place, &DescriptionRow { command, webhook, secrets: sealed, env_names })?;
    Ok(())
}

/// A tenant's key is never destroyed while its runs are accepted.
fn unsealable(abort: &Abort<seal::Erased>) -> Abort<Refusal> {
    match abort {
        Abort::Refused(seal::Erased) => Refusal::NotFound.into(),
        Abort::Failed(failure) => Abort::Failed(Failure::clone(failure)),
    }
}
