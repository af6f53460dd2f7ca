//! Workflows over a real store whose clock the tests set; what becomes of containers is said at the runner's border.

use quintet_platform::deliveries::{DeliveryState, Filter as Deliveries, list as deliveries};
use quintet_platform::jobs::Progress;
use quintet_platform::json::{Json, to_compact};
use quintet_storage::{Timestamp, Uuid};

use super::control::{cancel, pause, resume};
use super::create::create;
use super::decide::decide;
use super::events::{page, refs};
use super::model::{
    Condition, Decision, Expiry, FailurePolicy, NewEdge, NewNode, NewWorkflow, NodeKind, NodeState, Origin, Spec,
    SpecSecrets, Verdict, WorkflowState,
};
use super::retry::retry;
use super::rows::{Live, attempts, load, output};
use super::{run_ended, view};
use crate::allowances::model::{KeyTerms, SetQuotas};
use crate::allowances::{quotas, terms};
use crate::containers::model::{Run, Webhook};
use crate::containers::tests::border::{Fate, end, env_of, given_slots, heed_wish, pulling, requeue_of, start};
use crate::containers::{find as find_run, removal, wishes};
use crate::model::{RunId, RunKey, TenantId, WorkflowId, WorkflowKey};
use crate::refusal::Refusal;
use crate::states::RunState;
use crate::sweep::{begin, sweep};
use crate::testing::{Bench, bench, tenant};
use crate::webhooks::model::outbox;

mod crashes;
mod damage;
mod graphs;
mod judge;
mod limits;
mod lives;
mod model;
mod pictures;
mod sizes;
mod tables_of_states;

const DAY: i64 = 86_400;

/// A container node.
fn container(reference: &str, retries: u32) -> NewNode {
    let spec = Spec { image: "busybox".into(), timeout_seconds: Some(60), cpu_millicores: None, memory_mb: None };
    let secrets = SpecSecrets { command: vec!["true".into()], ..SpecSecrets::default() };
    let kind = NodeKind::Container { retries, backoff_seconds: 10 };
    NewNode { reference: reference.into(), kind, inputs_from: Vec::new(), spec: Some((spec, secrets)) }
}

fn gate(reference: &str) -> NewNode {
    NewNode { reference: reference.into(), kind: NodeKind::Gate { expiry: None }, inputs_from: Vec::new(), spec: None }
}

fn edge(from: &str, to: &str, condition: Condition) -> NewEdge {
    NewEdge { from: from.into(), to: to.into(), condition }
}

/// Edges that want success.
fn path(ends: &[(&str, &str)]) -> Vec<NewEdge> {
    ends.iter().map(|(from, to)| edge(from, to, Condition::OnSuccess)).collect()
}

fn new(nodes: Vec<NewNode>, edges: Vec<NewEdge>) -> NewWorkflow {
    NewWorkflow {
        name: Some("release".into()),
        tags: vec!["nightly".into()],
        policy: FailurePolicy::FailFast,
        nodes,
        edges,
        webhook: None,
        scheduled_start: None,
        origin: Origin::default(),
        key_id: String::new(),
    }
}

fn tried(bench: &Bench, tenant_id: TenantId, new: NewWorkflow) -> Result<WorkflowKey, Refusal> {
    bench.run(move |tx, now| create(tx, now, tenant_id, new)).map(|id| (tenant_id, id))
}

/// A workflow of one gate that the clock decides after so many seconds.
pub(crate) fn gate_that_expires(bench: &Bench, tenant_id: TenantId, seconds: i64) -> WorkflowKey {
    let expiry = Expiry { after_seconds: u32::try_from(seconds).unwrap(), verdict: Verdict::Approved };
    let node = NewNode { kind: NodeKind::Gate { expiry: Some(expiry) }, ..gate("g") };
    tried(bench, tenant_id, new(vec![node], Vec::new())).unwrap()
}

fn made(bench: &Bench, new: NewWorkflow) -> WorkflowKey {
    tried(bench, tenant(1), new).unwrap()
}

fn live(bench: &Bench, key: WorkflowKey) -> Live {
    load(&bench.store.read(), key).unwrap().unwrap()
}

fn state(bench: &Bench, key: WorkflowKey) -> WorkflowState {
    live(bench, key).workflow.state
}

/// The states of all nodes, as a line of words.
fn nodes(bench: &Bench, key: WorkflowKey) -> String {
    live(bench, key).nodes.iter().map(|node| node.state.name()).collect::<Vec<_>>().join(" ")
}

/// The run that a node waits for.
fn run_of(bench: &Bench, key: WorkflowKey, reference: &str) -> RunKey {
    let live = live(bench, key);
    let place = live.graph.place(reference).unwrap();
    (key.0, RunId(live.nodes[place].current_run().unwrap()))
}

fn run(bench: &Bench, run_key: RunKey) -> Run {
    find_run(&bench.store.read(), run_key).unwrap().unwrap()
}

/// Has the run of a node come to this.
fn comes_to(bench: &Bench, key: WorkflowKey, reference: &str, fate: &Fate) {
    let run_key = run_of(bench, key, reference);
    start(bench, run_key, run_ended);
    end(bench, run_key, fate, run_ended);
}

fn returns(bench: &Bench, key: WorkflowKey, reference: &str, code: i32) {
    comes_to(bench, key, reference, &Fate::Returned(code, None));
}

fn decided(bench: &Bench, key: WorkflowKey, reference: &str, verdict: Verdict) -> Result<NodeState, Refusal> {
    let reference = reference.to_owned();
    bench.run(move |tx, now| {
        let decision = Decision { verdict, comment: Some("fine".into()), decided_at: now, decided_by: "me".into() };
        decide(tx, now, key, &reference, decision)
    })
}

fn retried(bench: &Bench, key: WorkflowKey, reference: &str) -> Result<Vec<String>, Refusal> {
    let reference = reference.to_owned();
    bench.run(move |tx, now| retry(tx, now, key, &reference))
}

/// Goes on by so many seconds, and does what is due then.
fn pass(bench: &Bench, seconds: i64) {
    bench.clock.advance(seconds);
    do_due(bench);
}

fn do_due(bench: &Bench) {
    loop {
        let mut done = 0;
        loop {
            let (begun, swept) = bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap();
            done += begun;
            if swept.progress == Progress::Rest {
                break;
            }
        }
        loop {
            let swept = bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
            done += swept;
            if swept == 0 {
                break;
            }
        }
        if done == 0 {
            return;
        }
    }
}

/// What happened: the node if there is one, the state, the detail.
fn happened(bench: &Bench, key: WorkflowKey) -> Vec<(Option<String>, String, Json)> {
    let read = bench.store.read();
    let events = page(&read, key, 0, 10_000, &refs(&read, key).unwrap()).unwrap();
    let text = |event: &Json, name: &str| event.get(name).and_then(Json::as_str).map(str::to_owned);
    let told = |(_, event): (u64, Json)| {
        (text(&event, "node_ref"), text(&event, "to_state").unwrap(), event.get("detail").unwrap().clone())
    };
    events.into_iter().map(told).collect()
}

/// The same as words: `a:running`, or the state alone for the workflow.
fn words(bench: &Bench, key: WorkflowKey) -> String {
    let word = |(node, state, _): (Option<String>, String, Json)| match node {
        Some(node) => format!("{node}:{state}"),
        None => state,
    };
    happened(bench, key).into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The rows say what they must.
fn sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}
