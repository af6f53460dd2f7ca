//! The rows of timers: a timer, what finds it by the clock, and how many are pending, are written together.

use quintet_storage::{Failure, Read, WriteTx};

use super::model::{Timer, TimerState};
use super::tables::{CONTENTS, TIMERS};
use crate::alarms::counts;
use crate::due::{self, Due, Fire};
use crate::model::TimerKey;

/// A timer of a tenant.
pub(super) fn find(read: &impl Read, key: TimerKey) -> Result<Option<Timer>, Failure> {
    Ok(read.get(&TIMERS, &key)?.map(Timer::from))
}

/// Writes a timer that is new, or whose state has changed; `before` is the timer as it is stored.
pub(super) fn put(tx: &mut WriteTx<'_>, key: TimerKey, before: Option<&Timer>, timer: &Timer) -> Result<(), Failure> {
    if let Some(before) = before {
        unindex(tx, key, before)?;
    }
    if timer.state == TimerState::Pending {
        due::put_fire(tx, timer.begins_at(), Fire::Timer(key))?;
        counts::count(tx, key.0, |counts| counts.pending_timers += 1)?;
    }
    if let Some(at) = timer.old_at() {
        due::put(tx, at, Due::OldTimer(key))?;
    }
    tx.put(&TIMERS, &key, &timer.into())
}

/// Takes a timer away with all that belongs to it; `timer` is as it is stored.
pub(super) fn remove(tx: &mut WriteTx<'_>, key: TimerKey, timer: &Timer) -> Result<(), Failure> {
    unindex(tx, key, timer)?;
    tx.delete(&CONTENTS, &key);
    tx.delete(&TIMERS, &key);
    Ok(())
}

fn unindex(tx: &mut WriteTx<'_>, key: TimerKey, timer: &Timer) -> Result<(), Failure> {
    if timer.state == TimerState::Pending {
        due::clear_fire(tx, timer.begins_at(), Fire::Timer(key));
        counts::count(tx, key.0, |counts| counts.pending_timers = counts.pending_timers.saturating_sub(1))?;
    }
    if let Some(at) = timer.old_at() {
        due::clear(tx, at, Due::OldTimer(key));
    }
    Ok(())
}
