//! Processes killed in the middle of workflows: no attempt begins twice, what was said arrives, backoffs go on, and each
//! workflow ends in a state that is true.

use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::witness::Witness;
use super::{edges, node, node_with, states};
use crate::runs::{House, Tenant, wait_until};
use crate::support::appliance::rounds;

/// Kills the supervisor of a run's container, if it has one.
fn kill_supervisor(house: &House, run: &str) {
    let containers = house.runner.runner.list().unwrap();
    let container = containers.iter().find(|status| status.id.as_str().starts_with(run));
    if let Some(pid) = container.and_then(|status| house.runner.find_supervisor(&status.id)) {
        let _ = rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}

/// Two that begin with what one said, one that begins with what both said, and one that fails thrice.
fn diamond(more: &Value) -> Value {
    let of = |name: &str, script: &str, inputs: &[&str]| {
        let mut node = node_with(name, script, more.clone());
        node["inputs_from"] = json!(inputs);
        node
    };
    let nodes = json!([
        of("a", "echo started; sleep 0.05; echo '[1]'", &[]),
        of("b", "echo started; echo \"[$SVC_INPUT_A, 2]\"", &["a"]),
        of("c", "echo started; sleep 0.1; echo \"[$SVC_INPUT_A, 3]\"", &["a"]),
        of("d", "echo started; echo \"[$SVC_INPUT_B, $SVC_INPUT_C]\"", &["b", "c"]),
    ]);
    let on_success = |from, to| (from, to, "on_success");
    let edges = edges(&[on_success("a", "b"), on_success("a", "c"), on_success("b", "d"), on_success("c", "d")]);
    json!({"failure_policy": "continue", "nodes": nodes, "edges": edges})
}

fn attempts(tenant: &Tenant, path: &str, reference: &str) -> Vec<String> {
    let detail = tenant.detail(path, reference);
    detail["attempts"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// Every event has its number, none is told twice, and no node ends more often than it begins.
fn events_are_whole(tenant: &Tenant, path: &str) {
    let events = tenant.events(path);
    let ids: Vec<u64> = events.iter().map(|event| event["id"].as_u64().unwrap()).collect();
    assert!(ids.iter().copied().eq(1..=ids.len() as u64), "{ids:?}");
    let mut told: Vec<String> =
        events.iter().map(|e| format!("{} {} {}", e["node_ref"], e["to_state"], e["detail"])).collect();
    let all = told.len();
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), all, "told twice: {events:?}");
}

#[test]
fn a_server_killed_in_the_middle_begins_no_attempt_twice() {
    let Some(mut house) = House::start(&[("WORKERS", "30")]) else { return };
    let witness = Witness::of(&house);
    let mut tenants = vec![house.tenant(), house.tenant()];
    let mut made: Vec<(usize, String)> = Vec::new();
    for round in 0..rounds("QUINTET_WORKFLOW_KILLS", 4) {
        for place in [0, 1] {
            let mut body = diamond(&json!({}));
            let fails = node_with("fails", "echo started; exit 3", json!({"retries": 2, "retry_backoff_seconds": 1}));
            body["nodes"].as_array_mut().unwrap().push(fails);
            made.push((place, tenants[place].workflow(&body)));
        }
        std::thread::sleep(Duration::from_millis(40 + 130 * (round % 4) as u64));
        house.kill_server();
        house.serve();
        tenants = tenants.iter().map(|tenant| house.again(tenant)).collect();
    }
    for (place, path) in &made {
        let tenant = &tenants[*place];
        let result = tenant.result_of(path);
        assert_eq!((&result["state"], &result["failed_nodes"]), (&json!("failed"), &json!(["fails"])), "{result}");
        assert_eq!(result["nodes"][3]["output"], json!([[[1], 2], [[1], 3]]));
        for (name, number) in [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("fails", 3)] {
            let runs = attempts(tenant, path, name);
            assert_eq!(runs.len(), number, "{name}: {result}");
            for run in runs {
                assert_eq!(witness.starts(&run), 1, "{name}: {}", tenant.get(&run));
            }
        }
        events_are_whole(tenant, path);
    }
    house.assert_clean();
}

/// What was being made when the runner was killed is lost, and tried again; nothing that began is begun again under the
/// same name.
#[test]
fn a_runner_killed_in_the_middle_costs_attempts_and_nothing_else() {
    let Some(mut house) = House::start(&[("WORKERS", "30")]) else { return };
    let witness = Witness::of(&house);
    let tenant = house.tenant();
    let mut made = Vec::new();
    for round in 0..rounds("QUINTET_WORKFLOW_KILLS", 3) {
        made.extend((0..2).map(|_| tenant.workflow(&diamond(&json!({"retries": 8, "retry_backoff_seconds": 0})))));
        std::thread::sleep(Duration::from_millis(30 + 110 * (round % 4) as u64));
        house.runner.kill_runner();
        house.runner.start_runner().unwrap();
    }
    for path in &made {
        let result = tenant.result_of(path);
        assert_eq!(result["state"], "succeeded", "{result}");
        assert_eq!(result["nodes"][3]["output"], json!([[[1], 2], [[1], 3]]), "{result}");
        told_truly(&tenant, path, &witness);
    }
    house.assert_clean();
}

/// Each attempt began at most once, the last one of a node that has succeeded once, and the others were lost.
fn told_truly(tenant: &Tenant, path: &str, witness: &Witness) {
    for name in ["a", "b", "c", "d"] {
        let runs = attempts(tenant, path, name);
        assert_eq!(tenant.node(path, name)["attempt"], runs.len());
        let (last, before) = runs.split_last().unwrap();
        assert_eq!(witness.starts(last), 1, "{name}: {}", tenant.get(last));
        for run in before {
            let told = tenant.get(run);
            assert!(["worker_lost", "start_failed"].contains(&told["reason"].as_str().unwrap_or_default()), "{told}");
            assert!(witness.starts(run) <= 1, "{name}: {told}");
        }
    }
    events_are_whole(tenant, path);
}

/// The backoff that a lost supervisor began goes on while the server is away.
#[test]
fn a_lost_supervisor_is_an_attempt_and_its_backoff_outlives_the_server() {
    let Some(mut house) = House::start(&[]) else { return };
    let witness = Witness::of(&house);
    let tenant = house.tenant();
    let nodes = json!([
        node_with("a", "echo started; sleep 4; echo 7", json!({"retries": 1, "retry_backoff_seconds": 2})),
        node_with("b", "echo started; echo $SVC_INPUT_A", json!({"inputs_from": ["a"]})),
        node("alone", "echo started; sleep 60"),
        node("then", "echo started"),
    ]);
    let edges = edges(&[("a", "b", "on_success"), ("alone", "then", "on_failure")]);
    let path = tenant.workflow(&json!({"failure_policy": "continue", "nodes": nodes, "edges": edges}));
    let first = tenant.node_says(&path, "a", "started");
    kill_supervisor(&house, &first);
    tenant.node_until(&path, "a", "retrying");
    let before = tenant.detail(&path, "a");
    assert_eq!((&before["reason"], &before["exit_code"]), (&json!("worker_lost"), &Value::Null), "{before}");
    house.kill_server();
    std::thread::sleep(Duration::from_millis(500));
    house.serve();
    let tenant = house.again(&tenant);
    let after = tenant.happened(&path, "a").into_iter().rfind(|(state, _)| state == "retrying").unwrap().1;
    assert_eq!(after["retry_at"], before["retry_at"]);
    tenant.node_until(&path, "a", "running");
    let second = tenant.run_of(&path, "a");
    assert!(tenant.get(&second)["submitted_at"].as_str() >= before["retry_at"].as_str());
    // This one has no attempt left: whoever waits for a failure goes on.
    kill_supervisor(&house, &tenant.node_says(&path, "alone", "started"));
    let result = tenant.result_of(&path);
    let expected = [("a", "succeeded"), ("b", "succeeded"), ("alone", "failed"), ("then", "succeeded")];
    assert_eq!(states(&result), expected);
    assert_eq!(result["nodes"][1]["output"], 7);
    assert_eq!(tenant.detail(&path, "alone")["reason"], "worker_lost");
    for run in [first, second] {
        assert_eq!(witness.starts(&run), 1);
    }
    house.assert_clean();
}

/// Everybody is killed again and again, in any order, while workflows go on.
#[test]
fn whoever_is_killed_workflows_end_truthfully() {
    let Some(mut house) = House::start(&[("WORKERS", "30")]) else { return };
    let witness = Witness::of(&house);
    let mut tenant = house.tenant();
    let (mut random, mut made) = (fastrand::Rng::with_seed(19), Vec::new());
    for _ in 0..rounds("QUINTET_WORKFLOW_KILLS", 6) {
        let body = diamond(&json!({"retries": 10, "retry_backoff_seconds": random.u32(..2)}));
        made.push(tenant.workflow(&body));
        std::thread::sleep(Duration::from_millis(random.u64(20..300)));
        let runs = tenant.told("/api/v1/runs?state=running")["items"].as_array().unwrap().clone();
        for run in runs.iter().filter(|_| random.bool()) {
            kill_supervisor(&house, run["track_id"].as_str().unwrap());
        }
        let (server, runner) = (random.bool(), random.u8(..3) == 0);
        if server {
            house.kill_server();
        }
        if runner {
            house.runner.kill_runner();
            house.runner.start_runner().unwrap();
        }
        if server {
            house.serve();
            tenant = house.again(&tenant);
        }
    }
    for path in &made {
        let result = tenant.result_of(path);
        assert_eq!(result["state"], "succeeded", "{result}");
        assert_eq!(result["nodes"][3]["output"], json!([[[1], 2], [[1], 3]]), "{result}");
        told_truly(&tenant, path, &witness);
    }
    wait_until("the engine is up", || house.engine() == "up");
    house.assert_clean();
    let verified = house.appliance().cli(&["verify"]);
    assert!(verified.status.success(), "{verified:?}");
}
