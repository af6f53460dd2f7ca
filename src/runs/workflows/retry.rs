//! Having a node retried, with all that lies downstream of it.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::loads::active;
use super::model::{Detail, NO_NODE, NO_WORKFLOW, Node, WorkflowState};
use super::rows::{load, put_output, save};
use super::step::{set, settle};
use super::told;
use crate::allowances::quotas;
use crate::containers::submission;
use crate::model::WorkflowKey;
use crate::refusal::Refusal;

/// The most attempts at a node: each leaves a run and a row, for as long as the workflow is kept.
const ATTEMPTS_MAX: u32 = 1_000;

/// Has a node that has ended wait for its edges again, with its whole downstream closure; a workflow that had ended is active
/// again. The refs of all these nodes, in the order of submission.
pub(super) fn retry(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: WorkflowKey,
    reference: &str,
) -> Result<Vec<String>, Abort<Refusal>> {
    let mut live = load(tx, key)?.ok_or(NO_WORKFLOW)?;
    let place = live.graph.place(reference).ok_or(NO_NODE)?;
    let closure = live.ways.closure(place);
    let is_active = |place: &&usize| live.nodes.get(**place).is_some_and(|node| !node.state.is_terminal());
    // What was cancelled stays so: its last nodes may be cancelled in the next transaction.
    let all: Vec<usize> = if live.workflow.state.is_terminal() { (0..live.nodes.len()).collect() } else { Vec::new() };
    // The node itself is named first.
    if let Some(active) = [place].iter().chain(&closure).chain(&all).find(is_active) {
        return Err(Refusal::NodeNotTerminal(live.reference(*active).to_owned()).into());
    }
    if live.workflow.state.is_terminal() {
        let most = quotas::of_telling(tx, key.0)?.max_concurrent_workflows;
        if active(tx, key.0)? >= most {
            return Err(Refusal::WorkflowQuota(most).into());
        }
    }
    let attempts: Vec<u32> = live.nodes.iter().map(|node| node.attempt).collect();
    let attempts = |place: &usize| attempts.get(*place).copied().unwrap_or(0);
    if closure.iter().any(|place| attempts(place) >= ATTEMPTS_MAX) {
        return Err(Refusal::LimitReached("the most attempts at a node", u64::from(ATTEMPTS_MAX)).into());
    }
    submission::check_waiting(tx, key.0, closure.len())?;
    for place in &closure {
        let attempt = attempts(place);
        set(&mut live, *place, Node::pending(attempt));
        put_output(tx, live.node_key(*place), None)?;
    }
    live.workflow.has_failed = false;
    if live.workflow.state.is_terminal() {
        live.workflow.state = WorkflowState::Running;
        live.workflow.finished_at = None;
        told::workflow(tx, now, &mut live, told::event_of(WorkflowState::Running))?;
    }
    let mut reset = Vec::with_capacity(closure.len());
    for place in closure {
        told::node(tx, now, &mut live, place, Detail::Reset)?;
        reset.push(live.reference(place).to_owned());
    }
    settle(tx, now, &mut live)?;
    save(tx, now, live)?;
    Ok(reset)
}
