//! Cancelling a timer.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{NO_TIMER, Timer, TimerState};
use super::rows::{find, put};
use crate::alarms::counts;
use crate::model::TimerKey;
use crate::refusal::Refusal;

/// Cancels a timer; one that is cancelled stays so.
pub(super) fn cancel(tx: &mut WriteTx<'_>, now: Timestamp, key: TimerKey) -> Result<Timer, Abort<Refusal>> {
    let timer = find(tx, key)?.ok_or(NO_TIMER)?;
    match timer.state {
        TimerState::Fired { .. } => Err(Refusal::NotNow("the timer has fired").into()),
        TimerState::Cancelled { .. } => Ok(timer),
        TimerState::Pending => {
            let cancelled = Timer { state: TimerState::Cancelled { at: now }, ..timer.clone() };
            put(tx, key, Some(&timer), &cancelled)?;
            counts::give_back(tx, now, key.0, timer.created_at)?;
            Ok(cancelled)
        }
    }
}
