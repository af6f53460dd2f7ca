//! A schedule fires.

use quintet_platform::access::is_suspended;
use quintet_platform::ids::ulid;
use quintet_platform::json::Json;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::Schedule;
use super::plan::{Plan, Seen};
use super::rows::{find, put};
use super::tables::CONTENTS;
use crate::alarms::model::Contents;
use crate::alarms::told::{Alarm, tell};
use crate::alarms::wire::{late_seconds, millis};
use crate::alarms::{contents, counts};
use crate::allowances::{quotas, terms};
use crate::model::ScheduleKey;

/// Has a schedule fire whose instant has come.
pub(crate) fn fire(tx: &mut WriteTx<'_>, now: Timestamp, key: ScheduleKey) -> Result<(), Failure> {
    let Some(schedule) = find(tx, key)? else { return Ok(()) };
    let seen = catch_up(tx, now, key, schedule.clone())?;
    put(tx, key, Some(&schedule), &seen)
}

/// Sees to all instants of a schedule that have come: the schedule as it is then, which is still to be written.
pub(super) fn catch_up(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: ScheduleKey,
    mut schedule: Schedule,
) -> Result<Schedule, Failure> {
    let Some(first) = schedule.next_fire_at.filter(|first| *first <= now) else { return Ok(schedule) };
    let (plan, contents) = (Plan::of(&schedule.timing), contents::open(tx, &CONTENTS, &key)?);
    let (Some(plan), Some(contents)) = (plan, contents) else {
        // Its time zone is gone from the database of them, or its tenant has been erased: nobody can fire it.
        tracing::warn!(schedule = %ulid(key.1.0), "a schedule cannot fire any more; it is paused");
        return Ok(Schedule { is_enabled: false, next_fire_at: None, ..schedule });
    };
    let mut seen = plan.see_to(first, now, schedule.misfire);
    let count = u64::try_from(seen.fires.len()).unwrap_or(u64::MAX);
    if count > 0 && (is_suspended(tx, key.0.0)? || !counts::charge(tx, now, key.0, count)?) {
        seen.pass_over();
    }
    tell_all(tx, now, key, &schedule, &contents, &seen)?;
    schedule.fire_count += u64::try_from(seen.fires.len()).unwrap_or(u64::MAX);
    schedule.missed_count = schedule.missed_count.saturating_add(seen.missed);
    if !seen.fires.is_empty() {
        schedule.last_fire_at = Some(now);
    }
    schedule.seen_to = Some(seen.last);
    schedule.next_fire_at = plan.next(now, schedule.seen_to);
    Ok(schedule)
}

/// Tells the webhook of every instant that is fired for.
fn tell_all(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: ScheduleKey,
    schedule: &Schedule,
    contents: &Contents,
    seen: &Seen,
) -> Result<(), Failure> {
    if seen.fires.is_empty() {
        return Ok(());
    }
    let days = quotas::of_telling(tx, key.0)?.retention_days;
    let kept_days = terms::of(tx, &schedule.key_id)?.retention_days(days);
    let payload = contents.payload()?;
    for (scheduled_at, missed) in &seen.fires {
        let alarm = Alarm {
            event: "schedule.fired",
            resource_type: "schedule",
            resource_id: ulid(key.1.0),
            data: data(now, key, schedule, (*scheduled_at, *missed), payload.clone()),
            kept_days,
        };
        tell(tx, now, key.0, &schedule.address, contents, alarm)?;
    }
    Ok(())
}

/// What is told, in the order of the documentation.
fn data(
    now: Timestamp,
    key: ScheduleKey,
    schedule: &Schedule,
    (scheduled_at, missed): (Timestamp, u64),
    payload: Json,
) -> Json {
    Json::object([
        ("schedule_id", Json::from(ulid(key.1.0))),
        ("name", schedule.name.as_deref().into()),
        ("cron", schedule.timing.cron.as_str().into()),
        ("timezone", schedule.timing.timezone.as_str().into()),
        ("scheduled_at", millis(scheduled_at)),
        ("fired_at", millis(now)),
        ("late_seconds", late_seconds(now, scheduled_at)),
        ("missed", missed.into()),
        ("payload", payload),
    ])
}
