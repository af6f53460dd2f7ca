//! The rules of the contract as functions of states alone: edges, policies, what an end of a run means.

use super::model::{Condition, Edge, FailurePolicy, Graph, NodeReason, NodeState};
use crate::containers::model::{Reason, Run};
use crate::states::RunState;

/// How an edge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Satisfied,
    /// Its upstream has not ended.
    Open,
    /// It can never be satisfied as things are.
    Impossible,
}

/// How an edge stands whose upstream is in this state (contract, "Edge conditions").
pub(super) fn standing(condition: Condition, upstream: NodeState) -> Standing {
    let is_satisfied = match upstream {
        NodeState::Succeeded => matches!(condition, Condition::OnSuccess | Condition::Always),
        NodeState::Failed => matches!(condition, Condition::OnFailure | Condition::Always),
        // These satisfy no condition, `always` included.
        NodeState::Skipped | NodeState::Cancelled => false,
        NodeState::Pending | NodeState::Running | NodeState::Retrying | NodeState::WaitingApproval => {
            return Standing::Open;
        }
    };
    if is_satisfied { Standing::Satisfied } else { Standing::Impossible }
}

/// Edges by their ends, and an order in which each node stands behind its upstreams.
pub(super) struct Ways {
    incoming: Vec<Vec<Edge>>,
    outgoing: Vec<Vec<usize>>,
    order: Vec<usize>,
}

impl Ways {
    /// Those of a graph. One with a cycle has an order that leaves the cycle out.
    pub(super) fn of(graph: &Graph) -> Ways {
        let mut incoming = vec![Vec::new(); graph.nodes.len()];
        let mut outgoing = vec![Vec::new(); graph.nodes.len()];
        for edge in &graph.edges {
            if let Some(edges) = incoming.get_mut(index(edge.to)) {
                edges.push(*edge);
            }
            if let Some(places) = outgoing.get_mut(index(edge.from)) {
                places.push(index(edge.to));
            }
        }
        let mut open: Vec<usize> = incoming.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = (0..open.len()).filter(|place| open.get(*place) == Some(&0)).collect();
        let mut next = 0;
        while let Some(place) = order.get(next).copied() {
            next += 1;
            for to in outgoing.get(place).into_iter().flatten() {
                if let Some(left) = open.get_mut(*to) {
                    *left -= 1;
                    if *left == 0 {
                        order.push(*to);
                    }
                }
            }
        }
        Ways { incoming, outgoing, order }
    }

    /// A cycle of a graph that has one: its places, each behind the one before.
    pub(super) fn cycle(&self) -> Option<Vec<usize>> {
        let is_ordered = {
            let mut known = vec![false; self.incoming.len()];
            for place in &self.order {
                if let Some(known) = known.get_mut(*place) {
                    *known = true;
                }
            }
            known
        };
        let is_left = |place: &usize| is_ordered.get(*place) == Some(&false);
        // Whatever is left has an upstream that is left: going back long enough ends on the cycle.
        let mut place = (0..self.incoming.len()).find(|place| is_left(place))?;
        let back = |place: usize| self.edges_to(place).iter().map(|edge| index(edge.from)).find(|from| is_left(from));
        for _ in 0..self.incoming.len() {
            place = back(place)?;
        }
        let mut cycle = vec![place];
        let mut at = back(place)?;
        while at != place {
            cycle.push(at);
            at = back(at)?;
        }
        cycle.reverse();
        Some(cycle)
    }

    /// The edges to a node.
    pub(super) fn edges_to(&self, place: usize) -> &[Edge] {
        self.incoming.get(place).map_or(&[], Vec::as_slice)
    }

    /// A node and all that lies downstream of it, in the order of submission.
    pub(super) fn closure(&self, place: usize) -> Vec<usize> {
        let (mut found, mut next) = (vec![place], 0);
        let mut is_known = vec![false; self.incoming.len()];
        while let Some(at) = found.get(next).copied() {
            next += 1;
            for to in self.outgoing.get(at).into_iter().flatten() {
                if let Some(known) = is_known.get_mut(*to)
                    && !*known
                {
                    *known = true;
                    found.push(*to);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The nodes that can never be launched as things are, each with why and by which upstream: the fixpoint, for one that
    /// is skipped takes others with it. `has_failed` says whether a failure counts for `fail_fast`.
    pub(super) fn skipped(
        &self,
        states: &[NodeState],
        policy: FailurePolicy,
        has_failed: bool,
    ) -> Vec<(usize, NodeReason, Option<u32>)> {
        let mut states = states.to_vec();
        let mut skipped = Vec::new();
        let holds_back = policy == FailurePolicy::FailFast && has_failed;
        for place in &self.order {
            if states.get(*place) != Some(&NodeState::Pending) {
                continue;
            }
            let edges = self.edges_to(*place);
            let is_impossible = |edge: &&Edge| stands(&states, edge) == Standing::Impossible;
            let is_failure_path = || edges.iter().any(|edge| edge.condition != Condition::OnSuccess);
            let why = if let Some(edge) = edges.iter().find(is_impossible) {
                (NodeReason::Upstream, Some(edge.from))
            } else if holds_back && !is_failure_path() {
                (NodeReason::FailFast, None)
            } else {
                continue;
            };
            skipped.push((*place, why.0, why.1));
            if let Some(state) = states.get_mut(*place) {
                *state = NodeState::Skipped;
            }
        }
        skipped.sort_unstable_by_key(|(place, _, _)| *place);
        skipped
    }

    /// The nodes all of whose edges are satisfied, in the order of submission.
    pub(super) fn ready(&self, states: &[NodeState]) -> Vec<usize> {
        let is_ready = |place: usize| {
            states.get(place) == Some(&NodeState::Pending)
                && self.edges_to(place).iter().all(|edge| stands(states, edge) == Standing::Satisfied)
        };
        (0..states.len()).filter(|place| is_ready(*place)).collect()
    }
}

fn stands(states: &[NodeState], edge: &Edge) -> Standing {
    states.get(index(edge.from)).map_or(Standing::Impossible, |state| standing(edge.condition, *state))
}

/// A place as it stands in rows.
pub(super) fn index(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// A place as rows have it. There are a thousand nodes at most.
pub(super) fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// What the end of a run means for its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    /// Another attempt may be made.
    Failed(NodeReason),
    /// None may: somebody wanted its end.
    Ended(NodeReason),
}

/// What the end of a run means for its node.
pub(super) fn outcome(run: &Run) -> Outcome {
    match (run.state, run.reason) {
        // Whatever it returned.
        (RunState::Exited | RunState::Failed | RunState::Timeout, _) if run.is_stopping => {
            Outcome::Ended(NodeReason::Stopped)
        }
        (RunState::Exited, _) => Outcome::Succeeded,
        (RunState::Failed | RunState::Timeout, Some(reason)) if is_retried(reason) => {
            Outcome::Failed(NodeReason::Run(reason))
        }
        (_, reason) => Outcome::Ended(NodeReason::Run(reason.unwrap_or(Reason::Killed))),
    }
}

/// Which ends are followed by another attempt.
fn is_retried(reason: Reason) -> bool {
    match reason {
        Reason::NonzeroExit
        | Reason::OomKilled
        | Reason::Timeout
        | Reason::StartFailed
        | Reason::ImagePullFailed
        | Reason::ImageNotFound
        | Reason::QueueTimeout
        | Reason::WorkerLost => true,
        Reason::Expired | Reason::Killed | Reason::StopGraceExpired | Reason::WorkflowCancelled => false,
    }
}

/// The variable that hands on a node's output: ASCII letters in upper case, ASCII digits, anything else as `_`.
pub(super) fn variable(reference: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    "SVC_INPUT_".chars().chain(reference.chars().map(letter)).collect()
}
