//! Pausing a workflow, having it go on, cancelling it, and starting one that was deferred.

use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::model::{Detail, NO_WORKFLOW, NodeState, Workflow, WorkflowState};
use super::rows::{Live, cancelled, find, load, save};
use super::step::{leaves_rest, set, settle};
use super::told;
use crate::containers::wishes;
use crate::model::{RunId, WorkflowKey};
use crate::refusal::Refusal;

/// Launches nothing more of a running workflow.
pub(super) fn pause(tx: &mut WriteTx<'_>, now: Timestamp, key: WorkflowKey) -> Result<Workflow, Abort<Refusal>> {
    in_state(&find(tx, key)?.ok_or(NO_WORKFLOW)?, &[WorkflowState::Running])?;
    let mut live = load(tx, key)?.ok_or(NO_WORKFLOW)?;
    live.workflow.state = WorkflowState::Paused;
    told::workflow(tx, now, &mut live, told::event_of(WorkflowState::Paused))?;
    Ok(save(tx, now, live)?)
}

/// Has a paused workflow go on: it launches what could not be launched meanwhile.
pub(super) fn resume(tx: &mut WriteTx<'_>, now: Timestamp, key: WorkflowKey) -> Result<Workflow, Abort<Refusal>> {
    in_state(&find(tx, key)?.ok_or(NO_WORKFLOW)?, &[WorkflowState::Paused])?;
    let mut live = load(tx, key)?.ok_or(NO_WORKFLOW)?;
    live.workflow.state = WorkflowState::Running;
    told::workflow(tx, now, &mut live, Some("workflow.resumed"))?;
    settle(tx, now, &mut live)?;
    Ok(save(tx, now, live)?)
}

/// Ends an active workflow: whatever has not ended is cancelled. Runs with a container are killed as soon as they can be,
/// and what becomes of them no longer matters to their node.
///
/// That is one transaction, however large the graph: from then on nothing of it is launched, started or decided, and all its
/// nodes are told as cancelled ([`Live::told`]). What is too much for it, the events with their deliveries and the ends of
/// runs that wait, follows in those right behind it.
pub(crate) fn cancel(tx: &mut WriteTx<'_>, now: Timestamp, key: WorkflowKey) -> Result<Workflow, Abort<Refusal>> {
    let active = [WorkflowState::Pending, WorkflowState::Running, WorkflowState::Paused];
    in_state(&find(tx, key)?.ok_or(NO_WORKFLOW)?, &active)?;
    let mut live = load(tx, key)?.ok_or(NO_WORKFLOW)?;
    live.workflow.state = WorkflowState::Cancelled;
    live.workflow.finished_at = Some(now);
    cancel_nodes(tx, now, &mut live)?;
    // Nobody starts what this transaction had no room to end.
    for node in live.nodes.iter().filter(|node| node.state == NodeState::Running) {
        if let Some(run_id) = node.current_run() {
            wishes::wish(tx, (live.key.0, RunId(run_id)))?;
        }
    }
    Ok(save(tx, now, live)?)
}

/// Cancels what has not ended of a cancelled workflow, as much as fits into this transaction.
fn cancel_nodes(tx: &mut WriteTx<'_>, now: Timestamp, live: &mut Live) -> Result<(), Failure> {
    for place in 0..live.nodes.len() {
        let Some(node) = live.nodes.get(place).filter(|node| !node.state.is_terminal()).cloned() else { continue };
        if leaves_rest(tx, live) {
            return Ok(());
        }
        if let Some(run_id) = node.current_run().filter(|_| node.state == NodeState::Running) {
            wishes::end_or_wish(tx, now, (live.key.0, RunId(run_id)))?;
        }
        let node = cancelled(node, live.workflow.finished_at);
        set(live, place, node);
        told::node(tx, now, live, place, Detail::Nothing)?;
    }
    told::workflow(tx, now, live, told::event_of(WorkflowState::Cancelled))
}

/// The instant of a deferred workflow or of a retry has come, or something of a step is left: it goes on as far as it can.
pub(crate) fn go_on(tx: &mut WriteTx<'_>, now: Timestamp, key: WorkflowKey) -> Result<(), Failure> {
    let Some(mut live) = load(tx, key)? else { return Ok(()) };
    match live.workflow.state {
        WorkflowState::Cancelled if !live.workflow.is_over() => cancel_nodes(tx, now, &mut live)?,
        state if state.is_terminal() => return Ok(()),
        _ => settle(tx, now, &mut live)?,
    }
    save(tx, now, live)?;
    Ok(())
}

fn in_state(workflow: &Workflow, states: &[WorkflowState]) -> Result<(), Refusal> {
    if states.contains(&workflow.state) {
        return Ok(());
    }
    Err(Refusal::NotNow(match workflow.state {
        WorkflowState::Pending => "the workflow is pending",
        WorkflowState::Running => "the workflow is running",
        WorkflowState::Paused => "the workflow is paused",
        WorkflowState::Succeeded => "the workflow has succeeded",
        WorkflowState::Failed => "the workflow has failed",
        WorkflowState::Cancelled => "the workflow was cancelled",
    }))
}
