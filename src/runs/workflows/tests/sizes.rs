//! What one step of a workflow brings about can be far more than a transaction takes: it is done in parts, nobody else
//! waits for it, and nothing of it is forgotten.

use quintet_platform::secrets::Secret;
use quintet_platform::webhooks::NewEndpoint;

use super::*;
use crate::allowances::Ceilings;
use crate::testing::large_bench;
use crate::webhooks::manage::create as create_endpoint;
use crate::webhooks::model::{SecretOrigin, SigningSecret};

/// Endpoints of the first tenant that are told of everything.
pub(super) fn listeners(bench: &Bench, count: usize) {
    for _ in 0..count {
        let secret = SigningSecret { key: Secret::new(b"sesame".to_vec()), origin: SecretOrigin::Supplied };
        let (url, patterns) = ("https://example.com/".to_owned(), vec!["*".to_owned()]);
        let new = NewEndpoint { url, patterns, description: None, secret, is_active: true };
        bench.run(move |tx, now| create_endpoint(tx, now, tenant(1), &Ceilings::default(), new)).unwrap();
    }
}

fn may(bench: &Bench, name: &'static str, most: u64) {
    let asked = SetQuotas { numbers: vec![(name, most)], working_hours_tjp: None };
    bench.run(move |tx, _| Ok(quotas::set(tx, tenant(1), asked)?)).unwrap();
}

/// A workflow whose runs are told in bodies of 26 KB each.
pub(super) fn loud(nodes: Vec<NewNode>, edges: Vec<NewEdge>) -> NewWorkflow {
    let tags = (0..50).map(|number| format!("{number:02}{}", "\u{1f600}".repeat(126))).collect();
    NewWorkflow { tags, policy: FailurePolicy::Continue, ..new(nodes, edges) }
}

fn containers(count: usize) -> Vec<NewNode> {
    (0..count).map(|number| container(&format!("n{number}"), 0)).collect()
}

fn count_in(bench: &Bench, key: WorkflowKey, state: NodeState) -> usize {
    live(bench, key).nodes.iter().filter(|node| node.state == state).count()
}

#[test]
fn many_roots_begin_in_parts_and_others_at_once() {
    let bench = large_bench();
    listeners(&bench, 20);
    let later = Some(bench.now().plus_seconds(60));
    let large = made(&bench, NewWorkflow { scheduled_start: later, ..loud(containers(50), Vec::new()) });
    let small = NewWorkflow { scheduled_start: later, ..new(containers(1), Vec::new()) };
    let small = tried(&bench, tenant(2), small).unwrap();
    bench.clock.advance(60);
    bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap();
    let begun = count_in(&bench, large, NodeState::Running);
    assert!((1..50).contains(&begun), "{begun} of 50 in one transaction");
    sound(&bench);
    bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap();
    assert_eq!(nodes(&bench, small), "running", "whoever has little to begin waits for one part, not for all");
    sound(&bench);
    do_due(&bench);
    assert_eq!(count_in(&bench, large, NodeState::Running), 50);
    assert_eq!(due_again(&bench), 0);
    sound(&bench);
    // At once likewise: whoever submits has an answer after the first part.
    let at_once = made(&bench, loud(containers(50), Vec::new()));
    assert!(count_in(&bench, at_once, NodeState::Running) < 50);
    do_due(&bench);
    assert_eq!(count_in(&bench, at_once, NodeState::Running), 50);
    sound(&bench);
}

/// What is left to begin now.
fn due_again(bench: &Bench) -> usize {
    bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap().0
}

#[test]
fn what_waited_too_long_launches_nothing_by_itself() {
    let bench = large_bench();
    listeners(&bench, 20);
    let mut all = containers(30);
    all.push(container("late", 0));
    let edges = (0..30).map(|number| edge("late", &format!("n{number}"), Condition::Always)).collect();
    let large = made(&bench, loud(all, edges));
    let other = tried(&bench, tenant(2), new(containers(1), Vec::new())).unwrap();
    bench.clock.advance(3_600);
    while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() > 0 {}
    assert_eq!(state(&bench, other), WorkflowState::Failed, "others' time is over as well, and told");
    assert_eq!(live(&bench, large).nodes[30].state, NodeState::Failed);
    assert_eq!(count_in(&bench, large, NodeState::Running), 0, "the sweep goes on below the disk's reserve");
    sound(&bench);
    do_due(&bench);
    assert_eq!(count_in(&bench, large, NodeState::Running), 30);
    sound(&bench);
}

#[test]
fn the_skipped_are_told_in_parts() {
    let bench = large_bench();
    listeners(&bench, 20);
    may(&bench, "max_nodes_per_workflow", 1_000);
    let ends: Vec<(String, String)> =
        (0..399).map(|number| (format!("n{number}"), format!("n{}", number + 1))).collect();
    let ends: Vec<(&str, &str)> = ends.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let key = made(&bench, new(containers(400), path(&ends)));
    returns(&bench, key, "n0", 1);
    let skipped = count_in(&bench, key, NodeState::Skipped);
    assert!((1..399).contains(&skipped) && state(&bench, key) == WorkflowState::Running, "{skipped} at once");
    sound(&bench);
    do_due(&bench);
    assert_eq!((state(&bench, key), count_in(&bench, key, NodeState::Skipped)), (WorkflowState::Failed, 399));
    let told = words(&bench, key);
    assert!(told.ends_with(" n399:skipped failed") && told.matches(":skipped").count() == 399, "each once, in order");
    sound(&bench);
}

#[test]
fn a_large_workflow_is_cancelled_at_once_and_told_in_parts() {
    let bench = large_bench();
    listeners(&bench, 20);
    may(&bench, "max_nodes_per_workflow", 1_000);
    let mut all = containers(300);
    all.push(gate("open"));
    let key = made(&bench, loud(all, Vec::new()));
    do_due(&bench);
    assert_eq!(count_in(&bench, key, NodeState::Running), 300);
    bench.run(move |tx, now| cancel(tx, now, key)).unwrap();
    assert_eq!(state(&bench, key), WorkflowState::Cancelled);
    assert!(!live(&bench, key).workflow.is_over());
    sound(&bench);
    // Whoever looks sees all of it cancelled, since the same instant, and nothing starts any more.
    let at = bench.now();
    bench.clock.advance(1);
    let left = live(&bench, key).nodes.iter().filter(|node| node.state == NodeState::Running).count();
    assert!((1..300).contains(&left), "{left}");
    let told = live(&bench, key).told();
    assert!(told.nodes.iter().all(|node| (node.state, node.finished_at) == (NodeState::Cancelled, Some(at))));
    assert_eq!(told.workflow.told_counts()[NodeState::Cancelled.place()], 301);
    assert_eq!(told.workflow.told_counts().iter().sum::<u32>(), 301);
    let waiting = run_of(&bench, key, "n299");
    assert_eq!(run(&bench, waiting).state, RunState::Scheduled);
    assert_eq!(
        wishes::wished(&bench.store.read(), 1_000).unwrap().len(),
        left,
        "its end is wished until it is written"
    );
    assert_eq!(given_slots(&bench, vec![waiting], run_ended), [], "it gets no slot");
    sound(&bench);
    // What was cancelled cannot be had back while its last nodes are cancelled.
    assert!(matches!(decided(&bench, key, "open", Verdict::Approved), Err(Refusal::NotNow(_))));
    assert!(matches!(retried(&bench, key, "n0"), Err(Refusal::NodeNotTerminal(_))));
    assert!(matches!(bench.run(move |tx, now| cancel(tx, now, key)), Err(Refusal::NotNow(_))));
    do_due(&bench);
    assert_eq!(count_in(&bench, key, NodeState::Cancelled), 301);
    assert!(live(&bench, key).nodes.iter().all(|node| node.finished_at == Some(at)), "as it was told before");
    assert_eq!(wishes::wished(&bench.store.read(), 1).unwrap(), []);
    assert!(live(&bench, key).workflow.is_over());
    assert!(words(&bench, key).ends_with(" open:cancelled cancelled"));
    let killed = live(&bench, key)
        .nodes
        .iter()
        .take(300)
        .all(|node| run(&bench, (key.0, RunId(node.current_run().unwrap()))).state == RunState::Killed);
    assert!(killed, "no run of it waits on");
    sound(&bench);
    // Then it can be.
    assert_eq!(retried(&bench, key, "n0").unwrap(), ["n0"]);
    assert_eq!(state(&bench, key), WorkflowState::Running);
    sound(&bench);
}

#[test]
fn inputs_that_no_program_takes_fail_their_node_for_good() {
    let bench = large_bench();
    let output = format!("\"{}\"", "x".repeat(65_000));
    let mut all = containers(9);
    let (mut edges, refs): (Vec<NewEdge>, Vec<String>) = (Vec::new(), (0..9).map(|n| format!("n{n}")).collect());
    for number in 0..33 {
        let reference = format!("sink{number}");
        let inputs_from = refs.get(..if number == 0 { 9 } else { 7 }).unwrap().to_vec();
        edges.extend(refs.iter().map(|from| edge(from, &reference, Condition::OnSuccess)));
        all.push(NewNode { inputs_from, ..container(&reference, 3) });
    }
    let key = made(&bench, NewWorkflow { policy: FailurePolicy::Continue, ..new(all, edges) });
    for reference in &refs {
        comes_to(&bench, key, reference, &Fate::Returned(0, Some(output.clone())));
    }
    sound(&bench);
    do_due(&bench);
    let sink = &live(&bench, key).nodes[9];
    assert_eq!((sink.state, sink.attempt), (NodeState::Failed, 0), "another attempt would find the same");
    assert!(sink.message.as_deref().unwrap().contains("512 KiB"), "{:?}", sink.message);
    assert_eq!(count_in(&bench, key, NodeState::Running), 32);
    assert_eq!(env_of(&bench, run_of(&bench, key, "sink1")).len(), 7);
    sound(&bench);
}

#[test]
fn a_node_is_tried_so_often_and_no_more() {
    let bench = large_bench();
    let key = made(&bench, new(vec![gate("g")], Vec::new()));
    for _ in 1..1_000 {
        decided(&bench, key, "g", Verdict::Approved).unwrap();
        retried(&bench, key, "g").unwrap();
    }
    decided(&bench, key, "g", Verdict::Approved).unwrap();
    assert!(matches!(retried(&bench, key, "g"), Err(Refusal::LimitReached(_, 1_000))));
}
