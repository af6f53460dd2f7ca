//! Changing a schedule, pausing it, having it go on.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::create::{check, zone_is_gone};
use super::fire::catch_up;
use super::model::{NO_SCHEDULE, Schedule, ScheduleChange};
use super::plan::Plan;
use super::rows::{find, put};
use super::tables::CONTENTS;
use crate::alarms::contents;
use crate::alarms::model::Contents;
use crate::model::ScheduleKey;
use crate::refusal::Refusal;

/// Changes a schedule. What has come by now is seen to first, as the schedule was until then.
pub(super) fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: ScheduleKey,
    change: ScheduleChange,
) -> Result<Schedule, Abort<Refusal>> {
    let before = find(tx, key)?.ok_or(NO_SCHEDULE)?;
    let mut schedule = catch_up(tx, now, key, before.clone())?;
    let timing = change.timing(&schedule.timing);
    timing.check_bounds()?;
    let is_enabled = change.is_enabled.unwrap_or(schedule.is_enabled);
    if timing != schedule.timing {
        schedule.next_fire_at = Some(check(&timing, now, schedule.seen_to)?).filter(|_| is_enabled);
    } else if is_enabled && !schedule.is_enabled {
        // It may have come to its end meanwhile, which is no mistake.
        schedule.next_fire_at = Plan::of(&timing).ok_or_else(zone_is_gone)?.next(now, schedule.seen_to);
    } else if !is_enabled {
        schedule.next_fire_at = None;
    }
    schedule.timing = timing;
    schedule.is_enabled = is_enabled;
    if let Some(name) = change.name {
        schedule.name = name;
    }
    if let Some(misfire) = change.misfire {
        schedule.misfire = misfire;
    }
    let secret = change.webhook.as_ref().and_then(|webhook| webhook.secret.as_ref());
    if secret.is_some() || change.payload.is_some() {
        let mut held: Contents = contents::open(tx, &CONTENTS, &key)?.ok_or(NO_SCHEDULE)?;
        if let Some(secret) = secret {
            held = held.with_key(secret.key.expose());
            schedule.address.secret_origin = secret.origin;
        }
        if let Some(payload) = &change.payload {
            held = held.with_payload(payload);
        }
        if !contents::put(tx, &CONTENTS, &key, &held)? {
            return Err(NO_SCHEDULE.into());
        }
    }
    if let Some(webhook) = change.webhook {
        schedule.address.url = webhook.url;
    }
    schedule.updated_at = now;
    put(tx, key, Some(&before), &schedule)?;
    Ok(schedule)
}

/// Pauses a schedule, or has it go on; one that does so already is not touched.
pub(super) fn set_enabled(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: ScheduleKey,
    is_enabled: bool,
) -> Result<Schedule, Abort<Refusal>> {
    let schedule = find(tx, key)?.ok_or(NO_SCHEDULE)?;
    if schedule.is_enabled == is_enabled {
        return Ok(schedule);
    }
    change(tx, now, key, ScheduleChange { is_enabled: Some(is_enabled), ..ScheduleChange::default() })
}
