//! The rows of schedules: a schedule and what finds it by the clock are written together.

use quintet_storage::{Failure, Read, WriteTx};

use super::model::Schedule;
use super::tables::{CONTENTS, SCHEDULES};
use crate::alarms::counts;
use crate::due::{self, Fire};
use crate::model::ScheduleKey;

/// A schedule of a tenant.
pub(super) fn find(read: &impl Read, key: ScheduleKey) -> Result<Option<Schedule>, Failure> {
    Ok(read.get(&SCHEDULES, &key)?.map(Schedule::from))
}

/// Writes a schedule that is new or has changed; `before` is the schedule as it is stored.
pub(super) fn put(
    tx: &mut WriteTx<'_>,
    key: ScheduleKey,
    before: Option<&Schedule>,
    schedule: &Schedule,
) -> Result<(), Failure> {
    match before {
        Some(before) => unindex(tx, key, before),
        None => counts::count(tx, key.0, |counts| counts.schedules += 1)?,
    }
    if let Some(at) = schedule.next_fire_at {
        due::put_fire(tx, at, Fire::Schedule(key))?;
    }
    tx.put(&SCHEDULES, &key, &schedule.into())
}

/// Takes a schedule away with all that belongs to it; `schedule` is as it is stored.
pub(super) fn forget(tx: &mut WriteTx<'_>, key: ScheduleKey, schedule: &Schedule) -> Result<(), Failure> {
    unindex(tx, key, schedule);
    counts::count(tx, key.0, |counts| counts.schedules = counts.schedules.saturating_sub(1))?;
    tx.delete(&CONTENTS, &key);
    tx.delete(&SCHEDULES, &key);
    Ok(())
}

fn unindex(tx: &mut WriteTx<'_>, key: ScheduleKey, schedule: &Schedule) {
    if let Some(at) = schedule.next_fire_at {
        due::clear_fire(tx, at, Fire::Schedule(key));
    }
}
