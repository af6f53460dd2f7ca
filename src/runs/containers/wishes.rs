//! What must end because its workflow was cancelled: at once where there is no container, else as soon as it can be.
//!
//! A container cannot be killed in a transaction. What is durable is the wish: the engine repeats it until it is true,
//! whatever is restarted in between.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::changes::{change, find};
use super::end::End;
use super::model::{Reason, Run};
use super::results;
use super::tables::{WISHES, WishRow};
use crate::model::RunKey;
use crate::states::{Actor, RunState};

/// Ends a run whose workflow was cancelled, or wishes it to end if it has a container. Nothing happens to one that has
/// ended.
pub(crate) fn end_or_wish(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    let Some(run) = find(tx, run_key)? else { return Ok(()) };
    match run.state {
        RunState::Scheduled | RunState::Queued => end(tx, now, run_key, &run),
        RunState::Pulling | RunState::Running | RunState::Paused => wish(tx, run_key),
        RunState::Exited | RunState::Failed | RunState::Timeout | RunState::Killed => Ok(()),
    }
}

/// Wishes a run to end that waits still: nobody starts it any more.
pub(crate) fn wish(tx: &mut WriteTx<'_>, run_key: RunKey) -> Result<(), Failure> {
    tx.put(&WISHES, &run_key.1, &WishRow { tenant_id: run_key.0 })
}

/// Ends a run that lost its container, or never had one, and is wished to end.
pub(super) fn end_waiting(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    let is_waiting = |run: &Run| matches!(run.state, RunState::Scheduled | RunState::Queued);
    match find(tx, run_key)?.filter(is_waiting) {
        Some(run) if tx.contains(&WISHES, &run_key.1)? => end(tx, now, run_key, &run),
        _ => Ok(()),
    }
}

fn end(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey, before: &Run) -> Result<(), Failure> {
    let end = End::killed(now);
    results::put(tx, run_key, &end.result, &end.last_words)?;
    let run = Run {
        state: end.state,
        reason: Some(Reason::WorkflowCancelled),
        message: Some("its workflow was cancelled".to_owned()),
        finished_at: Some(now),
        ..before.clone()
    };
    change(tx, now, Actor::Workflow, run_key, Some(before), run)?;
    Ok(())
}

/// The runs that are wished to end and have not, `most` at the most.
pub(crate) fn wished(read: &impl Read, most: usize) -> Result<Vec<RunKey>, Failure> {
    let rows = read.scan(&WISHES, Scan::all().limit(most))?;
    Ok(rows.into_iter().map(|(run_id, row)| (row.tenant_id, run_id)).collect())
}

/// Whether a run is wished to end.
pub(crate) fn is_wished(read: &impl Read, run_key: RunKey) -> Result<bool, Failure> {
    read.contains(&WISHES, &run_key.1)
}
