//! What has waited too long, or must not start any more.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::changes::{change, find, move_start};
use super::end::{End, QUEUE_TIMEOUT};
use super::model::{Reason, Run};
use super::results;
use crate::allowances::quotas;
use crate::model::RunKey;
use crate::states::{Actor, RunState};

/// The time of a waiting run is over, says the clock. Nothing happens to one that waits no more.
pub(crate) fn too_late(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    match find(tx, run_key)? {
        Some(run) if run.state == RunState::Scheduled => fail_late(tx, now, Actor::Clock, run_key, &run),
        _ => Ok(()),
    }
}

/// Ends a waiting run whose time is over. One that the calendar has kept from starting waits on from its next opening.
pub(super) fn fail_late(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    by: Actor,
    run_key: RunKey,
    before: &Run,
) -> Result<(), Failure> {
    if before.expires_at.is_none_or(|expiry| expiry > now) {
        let start = quotas::hours(tx, run_key.0)?.start(now);
        if start.0 > now {
            return move_start(tx, now, run_key, before, start);
        }
    }
    let is_expired = before.expires_at.is_some_and(|expiry| expiry <= before.queue_deadline);
    let end = if is_expired { End::expired(now) } else { End::failed(Reason::QueueTimeout, QUEUE_TIMEOUT, now) };
    results::put(tx, run_key, &end.result, &end.last_words)?;
    let run =
        Run { state: end.state, reason: end.reason, message: end.message, finished_at: Some(now), ..before.clone() };
    change(tx, now, by, run_key, Some(before), run)?;
    Ok(())
}
