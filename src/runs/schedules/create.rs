//! Making a schedule.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{NO_SCHEDULE, NewSchedule, SCHEDULES_MAX, Schedule, Timing};
use super::plan::Plan;
use super::rows::put;
use super::tables::CONTENTS;
use crate::alarms::model::{Address, Contents};
use crate::alarms::{contents, counts};
use crate::model::{ScheduleId, TenantId};
use crate::refusal::Refusal;
use crate::webhooks::model::SigningSecret;

/// Makes a schedule, signed with this secret.
pub(super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    new: NewSchedule,
    secret: &SigningSecret,
) -> Result<(ScheduleId, Schedule), Abort<Refusal>> {
    let next = check(&new.timing, now, None)?;
    if counts::of(tx, tenant_id)?.schedules >= SCHEDULES_MAX {
        return Err(Refusal::LimitReached("the most schedules of a tenant", SCHEDULES_MAX).into());
    }
    let schedule = Schedule {
        name: new.name,
        timing: new.timing,
        address: Address { url: new.webhook.url, secret_origin: secret.origin },
        misfire: new.misfire,
        is_enabled: new.is_enabled,
        next_fire_at: Some(next).filter(|_| new.is_enabled),
        seen_to: None,
        last_fire_at: None,
        fire_count: 0,
        missed_count: 0,
        created_at: now,
        updated_at: now,
        key_id: new.key_id,
    };
    let key = (tenant_id, ScheduleId(tx.new_id()));
    if !contents::put(tx, &CONTENTS, &key, &Contents::new(secret.key.expose(), &new.payload))? {
        // A tenant's key is never destroyed while its requests are let in.
        return Err(NO_SCHEDULE.into());
    }
    put(tx, key, None, &schedule)?;
    Ok((key.1, schedule))
}

/// The next instant of a timing whose pattern and zone have been read.
///
/// # Errors
/// There is none any more.
pub(crate) fn check(timing: &Timing, now: Timestamp, seen_to: Option<Timestamp>) -> Result<Timestamp, Refusal> {
    let plan = Plan::of(timing).ok_or_else(zone_is_gone)?;
    let bound = if timing.end_at.is_some() { "end_at" } else { "start_at" };
    let next = plan.next(now, seen_to);
    next.ok_or_else(|| Refusal::NeverFires(bound, "leaves the pattern no instant to fire at".to_owned()))
}

/// Zones come and go with releases of their database.
pub(crate) fn zone_is_gone() -> Refusal {
    Refusal::field("timezone", "is no time zone any more")
}
