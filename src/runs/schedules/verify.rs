//! What must be true of the rows of schedules.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Timestamp};

use super::model::Schedule;
use super::plan::Plan;
use super::rows::find;
use super::tables::{CONTENTS, SCHEDULES};
use crate::alarms::model::Counts;
use crate::due::{self, Fire};
use crate::model::{ScheduleKey, TenantId};

/// Schedules, what finds them by the clock, and what they hold agree. They are counted.
pub(crate) fn verify(
    read: &impl Read,
    counted: &mut BTreeMap<TenantId, Counts>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &SCHEDULES, findings, |key, row, findings| {
        let (schedule, (tenant_id, schedule_id)) = (Schedule::from(row), key);
        counted.entry(tenant_id).or_default().schedules += 1;
        let mut wrong = |what: &str| findings.push(format!("schedule {schedule_id} of tenant {tenant_id} {what}"));
        match schedule.next_fire_at {
            Some(_) if !schedule.is_enabled => wrong("is paused, and is to fire"),
            Some(at) if !due::is_fire_put(read, at, Fire::Schedule(key))? => wrong("has nothing that it waits for"),
            Some(at) if schedule.seen_to.is_some_and(|seen_to| at <= seen_to) => wrong("goes back in time"),
            _ => {}
        }
        if Plan::of(&schedule.timing).is_none() {
            wrong("has a pattern or a time zone that is none");
        }
        if !read.contains(&CONTENTS, &key)? {
            wrong("has no contents");
        }
        Ok(())
    })?;
    each(read, &CONTENTS, findings, |key: ScheduleKey, _, findings| {
        if !read.contains(&SCHEDULES, &key)? {
            findings.push(format!("there are contents of a schedule {} of tenant {}, which is none", key.1, key.0));
        }
        Ok(())
    })
}

/// Whether a schedule begins at this instant.
pub(crate) fn begins_at(read: &impl Read, key: ScheduleKey, at: Timestamp) -> Result<bool, Failure> {
    Ok(find(read, key)?.is_some_and(|schedule| schedule.next_fire_at == Some(at)))
}
