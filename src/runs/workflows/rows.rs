//! The rows of workflows: a verb reads one whole, changes it in memory, and writes what has changed.

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx, decode_plain, encode_plain};

use super::loads::{self, Change};
use super::model::{Graph, Node, NodeState, Spec, SpecSecrets, Workflow, WorkflowState};
use super::rules::{Ways, number};
use super::tables::{
    ATTEMPTS, AttemptRow, GRAPHS, GraphRow, NODES, NodeKey, NodeRow, OUTPUTS, SPECS, SealedRow, SpecRow, WEBHOOKS,
    WORKFLOWS, WorkflowRow,
};
use crate::due::{self, Due, Fire};
use crate::model::WorkflowKey;
use crate::sealed::{open_for, seal_for};

/// An inline webhook. It is sealed in this shape.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct HeldWebhook {
    pub(super) url: String,
    pub(super) events: Vec<String>,
    pub(super) secret: Option<String>,
}

/// A workflow in the hands of a verb.
pub(super) struct Live {
    pub(super) key: WorkflowKey,
    pub(super) workflow: Workflow,
    pub(super) graph: Graph,
    pub(super) ways: Ways,
    pub(super) nodes: Vec<Node>,
    /// Nothing is launched in this transaction, but in one of its own: the disk is down to its reserve, maybe.
    pub(super) is_held: bool,
    /// Something of its step is left for another transaction.
    pub(super) goes_on: bool,
    /// How long attempts ran that have ended in this step, in microseconds.
    pub(super) ran_micros: u64,
    /// As they are stored; none if it is new.
    before: Option<(Workflow, Vec<Node>)>,
}

impl Live {
    /// A new one.
    pub(super) fn new(key: WorkflowKey, workflow: Workflow, graph: Graph) -> Live {
        let nodes = graph.nodes.iter().map(|_| Node::pending(0)).collect();
        let ways = Ways::of(&graph);
        Live { key, workflow, graph, ways, nodes, is_held: false, goes_on: false, ran_micros: 0, before: None }
    }

    /// The states of all nodes.
    pub(super) fn states(&self) -> Vec<NodeState> {
        self.nodes.iter().map(|node| node.state).collect()
    }

    /// What a node is called.
    pub(super) fn reference(&self, place: usize) -> &str {
        self.graph.nodes.get(place).map_or("", |node| node.reference.as_str())
    }

    /// The refs of the nodes in a state, in the order of submission.
    pub(super) fn refs_in(&self, state: NodeState) -> Vec<&str> {
        let nodes = self.graph.nodes.iter().zip(&self.nodes);
        nodes.filter(|(_, node)| node.state == state).map(|(known, _)| known.reference.as_str()).collect()
    }

    /// As everybody is told it: who cancels a workflow cancels all of it at once, though the rows of its last nodes may say so
    /// in the next transaction.
    #[must_use]
    pub(super) fn told(mut self) -> Live {
        if self.workflow.state == WorkflowState::Cancelled {
            let at = self.workflow.finished_at;
            for node in self.nodes.iter_mut().filter(|node| !node.state.is_terminal()) {
                *node = cancelled(node.clone(), at);
            }
        }
        self
    }

    /// The key of a node's rows.
    pub(super) fn node_key(&self, place: usize) -> NodeKey {
        (self.key.0, self.key.1, number(place))
    }
}

/// A node whose workflow was cancelled at this instant, before it had ended.
pub(super) fn cancelled(node: Node, at: Option<Timestamp>) -> Node {
    let state = NodeState::Cancelled;
    Node { state, reason: None, message: None, retry_at: None, expires_at: None, finished_at: at, ..node }
}

/// How a workflow of a tenant stands, without its nodes.
pub(super) fn find(read: &impl Read, key: WorkflowKey) -> Result<Option<Workflow>, Failure> {
    Ok(read.get(&WORKFLOWS, &key)?.map(|row| row.0))
}

/// The refs of the nodes of a workflow in a state, in the order of submission. Nodes are only read if there are any.
pub(super) fn refs_in(
    read: &impl Read,
    key: WorkflowKey,
    workflow: &Workflow,
    state: NodeState,
) -> Result<Vec<String>, Failure> {
    if workflow.counts.get(state.place()) == Some(&0) {
        return Ok(Vec::new());
    }
    Ok(load(read, key)?.map_or_else(Vec::new, |live| live.refs_in(state).into_iter().map(str::to_owned).collect()))
}

/// Where a workflow comes from.
#[cfg(test)]
pub(crate) fn origin_of(read: &impl Read, key: WorkflowKey) -> Result<Option<super::model::Origin>, Failure> {
    Ok(find(read, key)?.map(|workflow| workflow.origin))
}

/// Whether a workflow has not ended.
pub(crate) fn is_active(read: &impl Read, key: WorkflowKey) -> Result<bool, Failure> {
    Ok(find(read, key)?.is_some_and(|workflow| !workflow.state.is_terminal()))
}

/// A workflow of a tenant, whole.
pub(super) fn load(read: &impl Read, key: WorkflowKey) -> Result<Option<Live>, Failure> {
    let Some(workflow) = find(read, key)? else { return Ok(None) };
    let damaged = || Failure::Damaged(format!("workflow {} has no graph, or not all of its nodes", key.1));
    let graph = read.get(&GRAPHS, &key)?.ok_or_else(damaged)?.0;
    let nodes: Vec<Node> = read.scan(&NODES, Scan::prefix(&key))?.into_iter().map(|(_, row)| row.0).collect();
    if nodes.len() != graph.nodes.len() {
        return Err(damaged());
    }
    let before = Some((workflow.clone(), nodes.clone()));
    let ways = Ways::of(&graph);
    Ok(Some(Live { key, workflow, graph, ways, nodes, is_held: false, goes_on: false, ran_micros: 0, before }))
}

/// A workflow of a tenant as everybody is told it.
pub(super) fn load_told(read: &impl Read, key: WorkflowKey) -> Result<Option<Live>, Failure> {
    Ok(load(read, key)?.map(Live::told))
}

/// Writes what has changed of a workflow, with all that finds it and its nodes by the clock.
pub(super) fn save(tx: &mut WriteTx<'_>, now: Timestamp, mut live: Live) -> Result<Workflow, Failure> {
    live.workflow.counts = [0; 8];
    for node in &live.nodes {
        if let Some(count) = live.workflow.counts.get_mut(node.state.place()) {
            *count += 1;
        }
    }
    let before = live.before.take();
    let state_before = before.as_ref().map(|(workflow, _)| workflow.state);
    let mut change = Change::of((state_before, Some(live.workflow.state)), live.ran_micros);
    match &before {
        Some((workflow, _)) => unindex(tx, live.key, workflow),
        None => tx.put(&GRAPHS, &live.key, &GraphRow(live.graph.clone()))?,
    }
    index(tx, live.key, &live.workflow)?;
    for (place, node) in live.nodes.iter().enumerate() {
        let key = live.node_key(place);
        let known = before.as_ref().and_then(|(_, nodes)| nodes.get(place));
        if known == Some(node) {
            continue;
        }
        if let Some((at, fire)) = known.and_then(|known| fires(key, known)) {
            due::clear_fire(tx, at, fire);
        }
        // An instant that has come and could not be heeded, for the workflow is paused, is heeded when it goes on.
        if let Some((at, fire)) = fires(key, node).filter(|(at, _)| *at >= now) {
            due::put_fire(tx, at, fire)?;
        }
        change.gate(tx, key, known, node)?;
        tx.put(&NODES, &key, &NodeRow(node.clone()))?;
    }
    loads::note(tx, live.key.0, &change)?;
    if live.goes_on {
        due::put_fire(tx, now, Fire::WorkflowGoesOn(live.key))?;
    }
    tx.put(&WORKFLOWS, &live.key, &WorkflowRow(live.workflow.clone()))?;
    Ok(live.workflow)
}

/// What a node waits for by the clock.
pub(super) fn fires(key: NodeKey, node: &Node) -> Option<(Timestamp, Fire)> {
    match node.state {
        NodeState::Retrying => node.retry_at.map(|at| (at, Fire::NodeRetry(key))),
        NodeState::WaitingApproval => node.expires_at.map(|at| (at, Fire::GateExpiry(key))),
        _ => None,
    }
}

/// When a workflow that has not begun does.
pub(super) fn start_of(workflow: &Workflow) -> Option<Timestamp> {
    workflow.scheduled_start.filter(|_| workflow.state == WorkflowState::Pending)
}

fn index(tx: &mut WriteTx<'_>, key: WorkflowKey, workflow: &Workflow) -> Result<(), Failure> {
    if workflow.state.is_terminal() {
        return due::put(tx, workflow.old_at(), Due::OldWorkflow(key));
    }
    if let Some(at) = start_of(workflow) {
        due::put_fire(tx, at, Fire::WorkflowStart(key))?;
    }
    Ok(())
}

fn unindex(tx: &mut WriteTx<'_>, key: WorkflowKey, workflow: &Workflow) {
    if workflow.state.is_terminal() {
        due::clear(tx, workflow.old_at(), Due::OldWorkflow(key));
    } else if let Some(at) = start_of(workflow) {
        due::clear_fire(tx, at, Fire::WorkflowStart(key));
    }
}

/// Notes the run of an attempt.
pub(super) fn put_attempt(tx: &mut WriteTx<'_>, key: NodeKey, number: u32, run_id: Uuid) -> Result<(), Failure> {
    tx.put(&ATTEMPTS, &(key.0, key.1, key.2, number), &AttemptRow { run_id: run_id.into_bytes() })
}

/// The runs of all attempts at a node, oldest first.
pub(super) fn attempts(read: &impl Read, key: NodeKey) -> Result<Vec<Uuid>, Failure> {
    let rows = read.scan(&ATTEMPTS, Scan::prefix(&key))?;
    Ok(rows.into_iter().map(|(_, row)| Uuid::from_bytes(row.run_id)).collect())
}

/// Keeps the output of a node, or takes away what was kept.
pub(super) fn put_output(tx: &mut WriteTx<'_>, key: NodeKey, output: Option<&str>) -> Result<bool, Failure> {
    let sealed = match output {
        Some(text) => seal_for(tx, &OUTPUTS, &key, key.0, text.as_bytes())?,
        None => None,
    };
    match sealed {
        Some(sealed) => {
            tx.put(&OUTPUTS, &key, &SealedRow(sealed))?;
            Ok(true)
        }
        None => {
            tx.delete(&OUTPUTS, &key);
            Ok(false)
        }
    }
}

/// The output of a node: a line of JSON.
pub(super) fn output(read: &impl Read, key: NodeKey) -> Result<Option<String>, Failure> {
    let Some(SealedRow(sealed)) = read.get(&OUTPUTS, &key)? else { return Ok(None) };
    let plain = open_for(read, &OUTPUTS, &key, key.0, &sealed)?;
    Ok(plain.map(|plain| String::from_utf8_lossy(&plain).into_owned()))
}

/// Keeps what a node runs. False if it cannot be kept, for the tenant's key was destroyed.
pub(super) fn put_spec(tx: &mut WriteTx<'_>, key: NodeKey, spec: Spec, secrets: &SpecSecrets) -> Result<bool, Failure> {
    let Some(secrets) = seal_for(tx, &SPECS, &key, key.0, &encode_plain(secrets)?)? else { return Ok(false) };
    tx.put(&SPECS, &key, &SpecRow { spec, secrets })?;
    Ok(true)
}

/// What a node runs, but for its secrets.
pub(super) fn spec(read: &impl Read, key: NodeKey) -> Result<Option<Spec>, Failure> {
    Ok(read.get(&SPECS, &key)?.map(|row| row.spec))
}

/// What a node runs, with its secrets.
pub(super) fn open_spec(read: &impl Read, key: NodeKey) -> Result<Option<(Spec, SpecSecrets)>, Failure> {
    let Some(SpecRow { spec, secrets }) = read.get(&SPECS, &key)? else { return Ok(None) };
    let plain = open_for(read, &SPECS, &key, key.0, &secrets)?;
    plain.map(|plain| Ok((spec, SpecSecrets::decode(&plain)?))).transpose()
}

/// Keeps the inline webhook. False if it cannot be kept, for the tenant's key was destroyed.
pub(super) fn put_webhook(tx: &mut WriteTx<'_>, key: WorkflowKey, held: &HeldWebhook) -> Result<bool, Failure> {
    let Some(sealed) = seal_for(tx, &WEBHOOKS, &key, key.0, &encode_plain(held)?)? else { return Ok(false) };
    tx.put(&WEBHOOKS, &key, &SealedRow(sealed))?;
    Ok(true)
}

/// The inline webhook, if there is one.
pub(super) fn webhook(read: &impl Read, key: WorkflowKey) -> Result<Option<HeldWebhook>, Failure> {
    let Some(SealedRow(sealed)) = read.get(&WEBHOOKS, &key)? else { return Ok(None) };
    let plain = open_for(read, &WEBHOOKS, &key, key.0, &sealed)?;
    plain.map(|plain| decode_plain(&plain)).transpose()
}
