//! Every kind of disagreement between the rows of workflows is told.

use quintet_storage::{Failure, Read as _, WriteTx};

use super::super::model::{Node, Workflow};
use super::super::tables::{
    GRAPHS, GateRow, GraphRow, LOADS, LoadRow, NODES, NodeKey, NodeRow, OPEN_GATES, WORKFLOWS, WorkflowRow,
};
use super::*;
use crate::due::{self, Due, Fire};

/// Workflows in all that rows say of them.
#[derive(Clone, Copy)]
struct Scene {
    /// Its nodes: `a` is to be tried again, `g` is a gate that the clock decides, `b` waits for it, `c` runs.
    going: WorkflowKey,
    ended: WorkflowKey,
    /// It starts in an hour.
    later: WorkflowKey,
    now: Timestamp,
}

impl Scene {
    fn set(bench: &Bench) -> Scene {
        let expiry = Some(Expiry { after_seconds: 600, verdict: Verdict::Approved });
        let clocked = NewNode { kind: NodeKind::Gate { expiry }, ..gate("g") };
        let all = vec![container("a", 1), clocked, container("b", 0), container("c", 0)];
        let going = made(bench, new(all, path(&[("g", "b")])));
        returns(bench, going, "a", 3);
        let ended = made(bench, new(vec![gate("g")], Vec::new()));
        decided(bench, ended, "g", Verdict::Approved).unwrap();
        let now = bench.now();
        let start = Some(now.plus_seconds(3_600));
        let later = made(bench, NewWorkflow { scheduled_start: start, ..new(vec![gate("g")], Vec::new()) });
        assert_eq!(nodes(bench, going), "retrying waiting_approval pending running");
        sound(bench);
        Scene { going, ended, later, now }
    }

    /// The place of a node of the workflow that goes on.
    fn node(self, place: u32) -> NodeKey {
        (self.going.0, self.going.1, place)
    }
}

fn change_workflow(tx: &mut WriteTx<'_>, key: WorkflowKey, change: fn(&mut Workflow)) -> Result<(), Failure> {
    let mut workflow = tx.get(&WORKFLOWS, &key)?.unwrap().0;
    change(&mut workflow);
    tx.put(&WORKFLOWS, &key, &WorkflowRow(workflow))
}

fn change_node(tx: &mut WriteTx<'_>, key: NodeKey, change: fn(&mut Node)) -> Result<(), Failure> {
    let mut node = tx.get(&NODES, &key)?.unwrap().0;
    change(&mut node);
    tx.put(&NODES, &key, &NodeRow(node))
}

fn change_load(tx: &mut WriteTx<'_>, tenant_id: TenantId, change: fn(&mut LoadRow)) -> Result<(), Failure> {
    let mut load = tx.get(&LOADS, &tenant_id)?.unwrap();
    change(&mut load);
    tx.put(&LOADS, &tenant_id, &load)
}

type Damage = fn(&mut WriteTx<'_>, Scene) -> Result<(), Failure>;

#[track_caller]
fn are_found(damages: &[(&str, Damage)]) {
    for (finding, damage) in damages {
        let bench = bench();
        let scene = Scene::set(&bench);
        let damage = *damage;
        bench.run(move |tx, _| Ok(damage(tx, scene)?)).unwrap();
        let found = crate::verify(&bench.store.read()).unwrap();
        assert!(found.iter().any(|one| one.contains(finding)), "{finding}: {found:?}");
    }
}

#[test]
fn of_a_workflow_and_its_nodes() {
    are_found(&[
        ("has no graph, or not all of its nodes", |tx, scene| {
            tx.delete(&GRAPHS, &scene.going);
            Ok(())
        }),
        ("has no graph, or not all of its nodes", |tx, scene| {
            tx.delete(&NODES, &scene.node(2));
            Ok(())
        }),
        ("does not have as many nodes in each state as it says", |tx, scene| {
            change_workflow(tx, scene.going, |workflow| workflow.counts[0] += 1)
        }),
        ("has ended before its nodes", |tx, scene| {
            change_workflow(tx, scene.going, |workflow| workflow.state = WorkflowState::Succeeded)
        }),
        ("has not ended with its nodes", |tx, scene| {
            change_workflow(tx, scene.ended, |workflow| workflow.state = WorkflowState::Running)
        }),
        ("has nodes that are ready and not launched", |tx, scene| {
            let mut graph = tx.get(&GRAPHS, &scene.going)?.unwrap().0;
            graph.edges.clear();
            tx.put(&GRAPHS, &scene.going, &GraphRow(graph))
        }),
    ]);
}

#[test]
fn of_nodes_and_what_they_wait_for() {
    are_found(&[
        ("has a node \"c\" that waits for nothing", |tx, scene| {
            change_node(tx, scene.node(3), |node| node.run_id = None)
        }),
        ("has a node \"c\" that waits for nothing", |tx, scene| {
            change_node(tx, scene.node(3), |node| node.run_id = Some([9; 16]))
        }),
        ("has a node \"c\" that waits for nothing", |tx, scene| {
            change_node(tx, scene.node(3), |node| node.attempt = 7)
        }),
        ("has a node \"c\" that waits for nothing", |tx, scene| {
            // The run of another node.
            let run_id = tx.get(&NODES, &scene.node(0))?.unwrap().0.run_id;
            let row = tx.get(&NODES, &scene.node(3))?.unwrap().0;
            tx.put(&NODES, &scene.node(3), &NodeRow(Node { run_id, ..row }))
        }),
        ("is no node's, and goes on", |tx, scene| change_node(tx, scene.node(3), |node| node.run_id = None)),
        ("is no node's, and goes on", |tx, scene| {
            change_node(tx, scene.node(3), |node| node.state = NodeState::Succeeded)
        }),
        ("has a node \"a\" that waits for nothing", |tx, scene| {
            let at = tx.get(&NODES, &scene.node(0))?.unwrap().0.retry_at.unwrap();
            due::clear_fire(tx, at, Fire::NodeRetry(scene.node(0)));
            Ok(())
        }),
        ("has a node \"a\" that waits for nothing", |tx, scene| {
            change_node(tx, scene.node(0), |node| node.retry_at = None)
        }),
        ("has a node \"g\" that waits for nothing", |tx, scene| {
            let at = tx.get(&NODES, &scene.node(1))?.unwrap().0.expires_at.unwrap();
            due::clear_fire(tx, at, Fire::GateExpiry(scene.node(1)));
            Ok(())
        }),
    ]);
}

#[test]
fn of_what_is_counted_and_listed() {
    are_found(&[
        ("and is said to have", |tx, scene| change_load(tx, scene.going.0, |load| load.states[1] += 1)),
        ("open gates, and is said to have", |tx, scene| change_load(tx, scene.going.0, |load| load.open_gates = 0)),
        ("has [0, 0, 0, 0, 0, 0] workflows by state and 0 open gates", |tx, _| {
            tx.put(&LOADS, &tenant(7), &LoadRow { open_gates: 1, ..LoadRow::default() })
        }),
        ("are not counted", |tx, scene| {
            tx.delete(&LOADS, &scene.going.0);
            Ok(())
        }),
        ("has no gate open since", |tx, scene| {
            tx.put(&OPEN_GATES, &(scene.now.plus_seconds(1), scene.going.0, scene.going.1, 1), &GateRow)
        }),
        ("has no gate open since", |tx, scene| {
            tx.put(&OPEN_GATES, &(scene.now, scene.going.0, scene.going.1, 2), &GateRow)
        }),
        ("is not told of", |tx, scene| {
            let since = tx.get(&NODES, &scene.node(1))?.unwrap().0.started_at.unwrap();
            tx.delete(&OPEN_GATES, &(since, scene.going.0, scene.going.1, 1));
            Ok(())
        }),
    ]);
}

#[test]
fn of_what_falls_due() {
    are_found(&[
        ("has ended, and nothing will take it away", |tx, scene| {
            let at = tx.get(&WORKFLOWS, &scene.ended)?.unwrap().0.old_at();
            due::clear(tx, at, Due::OldWorkflow(scene.ended));
            Ok(())
        }),
        ("is to start, and nothing will start it", |tx, scene| {
            due::clear_fire(tx, scene.now.plus_seconds(3_600), Fire::WorkflowStart(scene.later));
            Ok(())
        }),
        ("and does not say so itself", |tx, scene| {
            due::put_fire(tx, scene.now.plus_seconds(60), Fire::WorkflowStart(scene.later))
        }),
        ("and does not say so itself", |tx, scene| {
            due::put_fire(tx, scene.now.plus_seconds(3_600), Fire::WorkflowStart(scene.ended))
        }),
        ("and does not say so itself", |tx, scene| {
            due::put_fire(tx, scene.now.plus_seconds(10), Fire::NodeRetry(scene.node(3)))
        }),
        ("and does not say so itself", |tx, scene| {
            due::put_fire(tx, scene.now.plus_seconds(601), Fire::GateExpiry(scene.node(1)))
        }),
        ("and does not say so itself", |tx, scene| {
            let none = (scene.going.0, WorkflowId(Uuid::from_u128(9)));
            due::put_fire(tx, scene.now, Fire::WorkflowGoesOn(none))
        }),
    ]);
}

/// What is left of a step is done at once: until then a workflow may have ended before its nodes, and nodes may be ready.
#[test]
fn what_goes_on_at_once_is_no_disagreement() {
    let bench = bench();
    let scene = Scene::set(&bench);
    bench
        .run(move |tx, now| {
            due::put_fire(tx, now, Fire::WorkflowGoesOn(scene.going))?;
            let mut graph = tx.get(&GRAPHS, &scene.going)?.unwrap().0;
            graph.edges.clear();
            Ok(tx.put(&GRAPHS, &scene.going, &GraphRow(graph))?)
        })
        .unwrap();
    sound(&bench);
}
