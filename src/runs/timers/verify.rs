//! What must be true of the rows of timers.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::{Timer, TimerState};
use super::rows::find;
use super::tables::{CONTENTS, TIMERS};
use crate::alarms::model::Counts;
use crate::due::{self, Due, Fire};
use crate::model::{TenantId, TimerKey};

/// Timers, what finds them by the clock, and what they hold agree. Those that are pending are counted.
pub(crate) fn verify(
    read: &impl Read,
    counted: &mut BTreeMap<TenantId, Counts>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    each(read, &TIMERS, findings, |key, row, findings| {
        let (timer, (tenant_id, timer_id)) = (Timer::from(row), key);
        if timer.state == TimerState::Pending {
            counted.entry(tenant_id).or_default().pending_timers += 1;
        }
        let is_found = match timer.old_at() {
            None => due::is_fire_put(read, timer.begins_at(), Fire::Timer(key))?,
            Some(at) => due::is_put(read, at, Due::OldTimer(key))?,
        };
        if !is_found {
            findings.push(format!("timer {timer_id} of tenant {tenant_id} has nothing that it waits for"));
        }
        if !read.contains(&CONTENTS, &key)? {
            findings.push(format!("timer {timer_id} of tenant {tenant_id} has no contents"));
        }
        Ok(())
    })?;
    each(read, &CONTENTS, findings, |key: TimerKey, _, findings| {
        if !read.contains(&TIMERS, &key)? {
            findings.push(format!("there are contents of a timer {} of tenant {}, which is none", key.1, key.0));
        }
        Ok(())
    })
}

/// Whether a timer begins at this instant.
pub(crate) fn begins_at(read: &impl Read, key: TimerKey, at: quintet_storage::Timestamp) -> Result<bool, Failure> {
    let timer = find(read, key)?;
    Ok(timer.is_some_and(|timer| timer.state == TimerState::Pending && timer.begins_at() == at))
}
