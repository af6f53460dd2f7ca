//! Deciding a gate: by a caller, or by the clock.

use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::model::{Decision, Detail, NO_NODE, NO_WORKFLOW, Node, NodeKind, NodeReason, NodeState, Verdict};
use super::rows::{Live, load, save};
use super::rules::index;
use super::step::{fail, set, settle};
use super::tables::NodeKey;
use super::told;
use crate::model::WorkflowKey;
use crate::refusal::Refusal;

/// Who is told to have decided where the clock did.
const BY_EXPIRY: &str = "expiry";

/// Decides an open gate.
pub(super) fn decide(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: WorkflowKey,
    reference: &str,
    decision: Decision,
) -> Result<NodeState, Abort<Refusal>> {
    let mut live = load(tx, key)?.ok_or(NO_WORKFLOW)?;
    let place = live.graph.place(reference).ok_or(NO_NODE)?;
    if !live.graph.nodes.get(place).is_some_and(|node| matches!(node.kind, NodeKind::Gate { .. })) {
        return Err(Refusal::NotAnApproval.into());
    }
    let is_open = live.nodes.get(place).is_some_and(|node| node.state == NodeState::WaitingApproval);
    if live.workflow.state.is_terminal() || !is_open {
        return Err(Refusal::NotNow("the gate is not open, or was decided already").into());
    }
    take(tx, now, &mut live, place, decision)?;
    let state = live.nodes.get(place).map_or(NodeState::Failed, |node| node.state);
    save(tx, now, live)?;
    Ok(state)
}

/// Nobody has decided a gate in time: the clock does. Nothing happens to one that is not open, or open for longer.
pub(crate) fn expire(tx: &mut WriteTx<'_>, now: Timestamp, key: NodeKey) -> Result<(), Failure> {
    let Some(mut live) = load(tx, (key.0, key.1))? else { return Ok(()) };
    let place = index(key.2);
    let is_due = |node: &Node| {
        node.state == NodeState::WaitingApproval && node.expires_at.is_some_and(|expires_at| expires_at <= now)
    };
    let known = live.graph.nodes.get(place).zip(live.nodes.get(place));
    let known = known.filter(|(_, node)| !live.workflow.state.is_terminal() && is_due(node));
    let Some(NodeKind::Gate { expiry: Some(expiry) }) = known.map(|(known, _)| &known.kind) else { return Ok(()) };
    let verdict = expiry.verdict;
    let decision = Decision { verdict, comment: None, decided_at: now, decided_by: BY_EXPIRY.to_owned() };
    take(tx, now, &mut live, place, decision)?;
    save(tx, now, live)?;
    Ok(())
}

fn take(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &mut Live,
    place: usize,
    decision: Decision,
) -> Result<(), Failure> {
    let Some(node) = live.nodes.get(place).cloned() else { return Ok(()) };
    let (verdict, comment) = (decision.verdict, decision.comment.clone());
    let node = Node { decision: Some(decision), expires_at: None, finished_at: Some(now), ..node };
    match verdict {
        Verdict::Approved => {
            let detail = Detail::Approved { attempt: node.attempt, comment };
            set(live, place, Node { state: NodeState::Succeeded, ..node });
            told::node(tx, now, live, place, detail)?;
        }
        Verdict::Rejected => {
            fail(tx, now, live, place, node, (NodeReason::Rejected, comment.unwrap_or_default()))?;
        }
    }
    settle(tx, now, live)
}
