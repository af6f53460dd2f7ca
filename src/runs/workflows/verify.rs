//! What must be true of the rows of workflows.

use std::collections::{BTreeMap, BTreeSet};

use quintet_platform::clock::rfc3339;
use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Timestamp};

use super::loads::open_since;
use super::model::{Node, NodeState, WorkflowState};
use super::rows::{Live, find, fires, load, start_of};
use super::tables::{LOADS, LoadRow, OPEN_GATES, WORKFLOWS};
use crate::containers::model::Run;
use crate::containers::verify::each_attempt;
use crate::containers::{find as find_run, wishes::is_wished};
use crate::due::{self, Due, Fire};
use crate::model::{RunId, RunKey, TenantId, WorkflowId, WorkflowKey};

/// Workflows, their nodes, what these wait for and how many there are agree.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut counted = Counted::default();
    let mut going = BTreeSet::new();
    due::each_fire(read, findings, |_, fire, _| {
        if let Fire::WorkflowGoesOn(key) = fire {
            going.insert(key);
        }
        Ok(())
    })?;
    each(read, &WORKFLOWS, findings, |key, _, findings| {
        match load(read, key) {
            Ok(Some(live)) => {
                counted.note(&live);
                check(read, &live, going.contains(&key), findings)?;
            }
            Ok(None) => {}
            Err(Failure::Damaged(problem)) => findings.push(problem),
            Err(failure) => return Err(failure),
        }
        Ok(())
    })?;
    counted.compare(read, findings)?;
    each_attempt(read, findings, |run_key, run, findings| {
        if !is_awaited(read, run_key, run)? && !is_wished(read, run_key)? {
            findings.push(format!("run {} of tenant {} is no node's, and goes on", run_key.1, run_key.0));
        }
        Ok(())
    })
}

/// What workflows come to, to be held against what is told of them.
#[derive(Default)]
struct Counted {
    loads: BTreeMap<TenantId, LoadRow>,
    gates: BTreeSet<(Timestamp, TenantId, WorkflowId, u32)>,
}

impl Counted {
    fn note(&mut self, live: &Live) {
        let load = self.loads.entry(live.key.0).or_default();
        if let Some(count) = load.states.get_mut(live.workflow.state.place()) {
            *count += 1;
        }
        for (place, node) in live.nodes.iter().enumerate() {
            if let Some(at) = open_since(node) {
                load.open_gates += 1;
                let (tenant_id, workflow_id, number) = live.node_key(place);
                self.gates.insert((at, tenant_id, workflow_id, number));
            }
        }
    }

    fn compare(self, read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
        let Counted { mut loads, mut gates } = self;
        each(read, &LOADS, findings, |tenant_id, told, findings| {
            let LoadRow { states, open_gates, .. } = loads.remove(&tenant_id).unwrap_or_default();
            if (told.states, told.open_gates) != (states, open_gates) {
                findings.push(format!(
                    "tenant {tenant_id} has {states:?} workflows by state and {open_gates} open gates, and is said to \
                     have {:?} and {}",
                    told.states, told.open_gates
                ));
            }
            Ok(())
        })?;
        let left = loads.into_keys().map(|tenant_id| format!("the workflows of tenant {tenant_id} are not counted"));
        findings.extend(left);
        each(read, &OPEN_GATES, findings, |gate, _, findings| {
            if !gates.remove(&gate) {
                let since = rfc3339(gate.0);
                findings.push(format!("workflow {} of tenant {} has no gate open since {since}", gate.2, gate.1));
            }
            Ok(())
        })?;
        findings.extend(gates.into_iter().map(|gate| format!("an open gate of workflow {} is not told of", gate.2)));
        Ok(())
    }
}

/// Whether the workflow of a run goes on still, or its node waits for this very run.
fn is_awaited(read: &impl Read, run_key: RunKey, run: &Run) -> Result<bool, Failure> {
    let Some((workflow_id, reference)) = run.workflow_id.zip(run.node_ref.as_deref()) else { return Ok(true) };
    // What cannot be read is told of where workflows are.
    let Ok(Some(live)) = load(read, (run_key.0, WorkflowId(workflow_id))) else { return Ok(true) };
    let node = live.graph.place(reference).and_then(|place| live.nodes.get(place));
    Ok(node.is_some_and(|node| node.state == NodeState::Running && node.current_run() == Some(run_key.1.0)))
}

fn check(read: &impl Read, live: &Live, goes_on: bool, findings: &mut Vec<String>) -> Result<(), Failure> {
    let (tenant_id, workflow_id) = live.key;
    let workflow = &live.workflow;
    let mut wrong = |what: String| findings.push(format!("workflow {workflow_id} of tenant {tenant_id} {what}"));
    let mut counts = [0_u32; 8];
    for node in &live.nodes {
        if let Some(count) = counts.get_mut(node.state.place()) {
            *count += 1;
        }
    }
    if counts != workflow.counts {
        wrong("does not have as many nodes in each state as it says".to_owned());
    }
    let have_ended = live.nodes.iter().all(|node| node.state.is_terminal());
    // What is left of its step is done at once.
    match workflow.state {
        _ if goes_on => {}
        WorkflowState::Succeeded | WorkflowState::Failed | WorkflowState::Cancelled if !have_ended => {
            wrong("has ended before its nodes".to_owned());
        }
        WorkflowState::Pending | WorkflowState::Running if have_ended => {
            wrong("has not ended with its nodes".to_owned())
        }
        _ => {}
    }
    if workflow.state.is_terminal() && !due::is_put(read, workflow.old_at(), Due::OldWorkflow(live.key))? {
        wrong("has ended, and nothing will take it away".to_owned());
    }
    if let Some(at) = start_of(workflow)
        && !due::is_fire_put(read, at, Fire::WorkflowStart(live.key))?
    {
        wrong("is to start, and nothing will start it".to_owned());
    }
    let is_going = match workflow.state {
        WorkflowState::Running => true,
        WorkflowState::Pending => start_of(workflow).is_none(),
        _ => false,
    };
    if !goes_on && is_going && !live.ways.ready(&live.states()).is_empty() {
        wrong("has nodes that are ready and not launched".to_owned());
    }
    for (place, node) in live.nodes.iter().enumerate().filter(|_| !workflow.state.is_terminal()) {
        if !has_what_it_waits_for(read, live, place, node)? {
            wrong(format!("has a node {:?} that waits for nothing", live.reference(place)));
        }
    }
    Ok(())
}

fn has_what_it_waits_for(read: &impl Read, live: &Live, place: usize, node: &Node) -> Result<bool, Failure> {
    match node.state {
        NodeState::Running => {
            let Some(run_id) = node.current_run() else { return Ok(false) };
            let run = find_run(read, (live.key.0, RunId(run_id)))?;
            Ok(run.is_some_and(|run| {
                let is_own = run.workflow_id == Some(live.key.1.0)
                    && run.node_ref.as_deref() == Some(live.reference(place))
                    && run.attempt == node.attempt;
                is_own && !run.state.is_terminal()
            }))
        }
        // Of a paused workflow the instant may have passed: it is heeded when it goes on.
        NodeState::Retrying if live.workflow.state == WorkflowState::Paused => Ok(true),
        NodeState::Retrying | NodeState::WaitingApproval => match fires(live.node_key(place), node) {
            Some((at, fire)) => due::is_fire_put(read, at, fire),
            None => Ok(node.state == NodeState::WaitingApproval),
        },
        _ => Ok(true),
    }
}

/// Whether a workflow or a node of it waits for this instant.
pub(crate) fn begins_at(read: &impl Read, fire: Fire, at: Timestamp) -> Result<bool, Failure> {
    let key: WorkflowKey = match fire {
        Fire::WorkflowStart(key) => key,
        Fire::WorkflowGoesOn(key) => return Ok(find(read, key)?.is_some()),
        Fire::NodeRetry((tenant_id, workflow_id, _)) | Fire::GateExpiry((tenant_id, workflow_id, _)) => {
            (tenant_id, workflow_id)
        }
        Fire::Timer(_) | Fire::Schedule(_) | Fire::Trigger(_) => return Ok(false),
    };
    let live = match load(read, key) {
        Ok(Some(live)) => live,
        Ok(None) => return Ok(false),
        // What cannot be read is told of where workflows are.
        Err(Failure::Damaged(_)) => return Ok(true),
        Err(failure) => return Err(failure),
    };
    let of_nodes = live.nodes.iter().enumerate().filter_map(|(place, node)| fires(live.node_key(place), node));
    let start = start_of(&live.workflow).map(|at| (at, Fire::WorkflowStart(key)));
    Ok(of_nodes.chain(start).any(|known| known == (at, fire)))
}
