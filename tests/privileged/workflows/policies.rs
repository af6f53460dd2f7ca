//! Failures of every kind, and what the edges, the attempts and the policy make of them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{edges, gate, node, node_with, states};
use crate::runs::{Tenant, shared, wait_until};

/// How often the container of this run said that it has started.
fn starts(tenant: &Tenant, run: &str) -> usize {
    tenant.lines(run).iter().filter(|line| *line == "started").count()
}

/// The runs of a node, oldest first.
fn attempts(tenant: &Tenant, path: &str, reference: &str) -> Vec<String> {
    let detail = tenant.detail(path, reference);
    detail["attempts"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

fn seconds_between(earlier: &Value, later: &Value) -> f64 {
    let micros = |time: &Value| quintet_platform::clock::parse_rfc3339(time.as_str().unwrap()).unwrap().as_micros();
    (micros(later) - micros(earlier)) as f64 / 1e6
}

#[test]
fn a_failure_is_tried_again_after_its_backoff_and_no_more_often_than_said() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let failing = node_with("a", "echo started; exit 3", json!({"retries": 2, "retry_backoff_seconds": 1}));
    let nodes = json!([failing, node("b", "true"), node("c", "true")]);
    let edges = edges(&[("a", "b", "on_success"), ("a", "c", "on_failure")]);
    let path = tenant.workflow(&json!({"nodes": nodes, "edges": edges}));
    let result = tenant.result_of(&path);
    assert_eq!((&result["state"], &result["failed_nodes"]), (&json!("failed"), &json!(["a"])));
    assert_eq!(states(&result), [("a", "failed"), ("b", "skipped"), ("c", "succeeded")]);
    assert_eq!((&result["nodes"][0]["attempts"], &result["nodes"][0]["exit_code"]), (&json!(3), &json!(3)));
    let runs = attempts(&tenant, &path, "a");
    assert_eq!(runs.len(), 3);
    let told: Vec<Value> = runs.iter().map(|run| tenant.get(run)).collect();
    for (number, (run, id)) in told.iter().zip(&runs).enumerate() {
        assert_eq!((&run["attempt"], &run["reason"]), (&json!(number + 1), &json!("nonzero_exit")), "{run}");
        assert_eq!(starts(&tenant, id), 1, "{run}");
    }
    for two in told.windows(2) {
        let pause = seconds_between(&two[0]["finished_at"], &two[1]["submitted_at"]);
        assert!((1.0..30.0).contains(&pause), "{pause} s from the end of an attempt to the next");
    }
    let happened = tenant.happened(&path, "a");
    let order: Vec<&str> = happened.iter().map(|(state, _)| state.as_str()).collect();
    assert_eq!(order, ["running", "retrying", "running", "retrying", "running", "failed"]);
    let (first, last) = (&happened[1].1, &happened[5].1);
    assert_eq!(
        (&first["attempt"], &first["exit_code"], &first["reason"]),
        (&json!(1), &json!(3), &json!("nonzero_exit"))
    );
    assert_eq!(seconds_between(&told[0]["finished_at"], &first["retry_at"]), 1.0);
    assert_eq!((&last["attempt"], &last["exit_code"], &last["reason"]), (&json!(3), &json!(3), &json!("nonzero_exit")));
}

/// `tail` waits behind a gate while `bad` fails: only fail_fast takes it away.
#[test]
fn the_policy_decides_what_a_failure_takes_along() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let nodes = json!([
        node("bad", "exit 3"),
        node("well", "true"),
        gate("hold"),
        node("tail", "true"),
        node("on-success", "true"),
        node("on-failure", "true"),
        node("always", "true"),
        node("behind", "true")
    ]);
    let edges = edges(&[
        ("hold", "tail", "on_success"),
        ("bad", "on-success", "on_success"),
        ("bad", "on-failure", "on_failure"),
        ("bad", "always", "always"),
        ("well", "always", "always"),
        ("on-success", "behind", "always"),
    ]);
    for (policy, tail) in [("fail_fast", "skipped"), ("continue", "succeeded")] {
        let path = tenant.workflow(&json!({"failure_policy": policy, "nodes": nodes, "edges": edges}));
        tenant.node_until(&path, "always", "succeeded");
        assert_eq!(tenant.node(&path, "tail")["state"], if policy == "continue" { "pending" } else { "skipped" });
        tenant.order(&path, "nodes/hold/approve");
        let result = tenant.result_of(&path);
        assert_eq!((&result["state"], &result["failed_nodes"]), (&json!("failed"), &json!(["bad"])), "{policy}");
        let expected = [
            ("bad", "failed"),
            ("well", "succeeded"),
            ("hold", "succeeded"),
            ("tail", tail),
            ("on-success", "skipped"),
            ("on-failure", "succeeded"),
            ("always", "succeeded"),
            ("behind", "skipped"),
        ];
        assert_eq!(states(&result), expected, "{policy}");
        let skipped = |name: &str| tenant.happened(&path, name).last().unwrap().1.clone();
        assert_eq!(skipped("behind")["reason"], "upstream", "{policy}");
        assert_eq!(skipped("on-success"), json!({"reason": "upstream", "from_ref": "bad"}), "{policy}");
        if policy == "fail_fast" {
            assert_eq!(skipped("tail")["reason"], "fail_fast");
        }
    }
}

#[test]
fn what_runs_too_long_or_wants_too_much_is_tried_again_too() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let again = |more: Value| {
        let mut more = more;
        more.as_object_mut()
            .unwrap()
            .extend(json!({"retries": 1, "retry_backoff_seconds": 0}).as_object().unwrap().clone());
        more
    };
    let long = node_with("long", "echo started; echo 5; sleep 60", again(json!({"timeout_seconds": 1})));
    let large =
        node_with("large", "echo started; x=$(yes | head -c 200000000); echo 5", again(json!({"memory_limit_mb": 16})));
    let reads = |name: &str, from: &str| node_with(name, "env | grep ^SVC_; true", json!({"inputs_from": [from]}));
    let nodes = json!([long, large, reads("behind-long", "long"), reads("behind-large", "large")]);
    let edges = edges(&[("long", "behind-long", "on_failure"), ("large", "behind-large", "always")]);
    let path = tenant.workflow(&json!({"nodes": nodes, "edges": edges}));
    let result = tenant.result_of(&path);
    assert_eq!(result["failed_nodes"], json!(["long", "large"]));
    for (name, reason) in [("long", "timeout"), ("large", "oom_killed")] {
        let detail = tenant.detail(&path, name);
        assert_eq!((&detail["reason"], &detail["attempt"]), (&json!(reason), &json!(2)), "{detail}");
        for run in attempts(&tenant, &path, name) {
            assert_eq!((&tenant.get(&run)["reason"], starts(&tenant, &run)), (&json!(reason), 1));
        }
    }
    // What had been said until then is handed on.
    assert_eq!(tenant.lines(&tenant.run_of(&path, "behind-long")), ["SVC_INPUT_LONG=5"]);
    assert!(tenant.lines(&tenant.run_of(&path, "behind-large")).is_empty());
}

/// One slot, and a second to wait for it: `waits` fails while `holds` has it, and its next attempt comes when it is free.
#[test]
fn a_node_that_waited_too_long_for_a_slot_is_tried_again() {
    let Some(house) = shared() else { return };
    let tenant_id = house.appliance().tenant();
    let tenant = house.tenant_of(&tenant_id);
    let admin = house.appliance().persona("runs", &tenant_id, &["svc_tenant_admin"]);
    let quotas = json!({"max_concurrent_runs": 1, "max_queue_seconds": 1}).to_string();
    let headers = [("content-type", "application/json")];
    admin.send("PUT", "/api/v1/tenant/quotas", &headers, quotas.as_bytes()).expect(200);
    let nodes = json!([
        node("holds", "trap 'exit 0' TERM; echo here; while :; do sleep 0.05; done"),
        node_with("waits", "echo started", json!({"retries": 10, "retry_backoff_seconds": 1})),
        node_with("gives-up", "echo started", json!({"retries": 0})),
    ]);
    let path = tenant.workflow(&json!({"failure_policy": "continue", "nodes": nodes}));
    tenant.node_says(&path, "holds", "here");
    tenant.node_until(&path, "gives-up", "failed");
    wait_until("it is tried again", || tenant.node(&path, "waits")["attempt"].as_u64().unwrap() >= 2);
    tenant.control(&tenant.run_of(&path, "holds"), "stop");
    let result = tenant.result_of(&path);
    // A run that was stopped is no success, whatever it returned.
    assert_eq!(states(&result), [("holds", "failed"), ("waits", "succeeded"), ("gives-up", "failed")]);
    let gave_up = tenant.detail(&path, "gives-up");
    assert_eq!((&gave_up["reason"], &gave_up["exit_code"]), (&json!("queue_timeout"), &Value::Null));
    let runs = attempts(&tenant, &path, "waits");
    let (last, before) = runs.split_last().unwrap();
    assert_eq!(starts(&tenant, last), 1);
    for run in before {
        let told = tenant.get(run);
        assert_eq!((&told["reason"], &told["started_at"]), (&json!("queue_timeout"), &Value::Null), "{told}");
    }
}

#[test]
fn a_run_ended_by_somebody_fails_its_node_whatever_is_left_to_try() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let stays = "trap 'echo 4; exit 0' TERM; echo here; while :; do sleep 0.05; done";
    let more = json!({"retries": 3, "retry_backoff_seconds": 0});
    let reads = node_with("reads", "env | grep ^SVC_; true", json!({"inputs_from": ["stopped"]}));
    let nodes = json!([node_with("killed", stays, more.clone()), node_with("stopped", stays, more), reads]);
    let edges = edges(&[("killed", "reads", "on_failure"), ("stopped", "reads", "on_failure")]);
    let path = tenant.workflow(&json!({"nodes": nodes, "edges": edges}));
    for (name, action, reason) in [("killed", "kill", "killed"), ("stopped", "stop", "stopped")] {
        let run = tenant.node_says(&path, name, "here");
        let refused = tenant.client.send("DELETE", &format!("/api/v1/runs/{run}"), &[], b"");
        assert_eq!(refused.expect(409)["code"], "run_active", "a node waits for it");
        assert_eq!(tenant.control(&run, action).status, 204);
        tenant.node_until(&path, name, "failed");
        let detail = tenant.detail(&path, name);
        assert_eq!((&detail["reason"], &detail["attempts"]), (&json!(reason), &json!([run])), "{detail}");
    }
    let result = tenant.result_of(&path);
    assert_eq!(states(&result), [("killed", "failed"), ("stopped", "failed"), ("reads", "succeeded")]);
    assert_eq!(result["nodes"][1]["exit_code"], 0, "what it returned is told");
    assert_eq!(tenant.lines(&tenant.run_of(&path, "reads")), ["SVC_INPUT_STOPPED=4"]);
}

#[test]
fn a_paused_workflow_launches_nothing_and_goes_on_where_it_was() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let waits = "trap 'exit 5' TERM; echo here; while :; do sleep 0.05; done";
    let nodes = json!([
        gate("go"),
        node("a", "sleep 1"),
        node("b", "true"),
        node_with("c", "sleep 1; exit 3", json!({"retries": 1, "retry_backoff_seconds": 0})),
        node("frozen", waits),
    ]);
    let edges = edges(&[("go", "a", "on_success"), ("go", "c", "on_success"), ("a", "b", "on_success")]);
    let path = tenant.workflow(&json!({"failure_policy": "continue", "nodes": nodes, "edges": edges}));
    let frozen = tenant.node_says(&path, "frozen", "here");
    tenant.order(&path, "nodes/go/approve");
    assert_eq!(tenant.order(&path, "pause")["state"], "paused");
    // A run that stands still is a node that runs.
    assert_eq!(tenant.control(&frozen, "pause").status, 204);
    let a = tenant.run_of(&path, "a");
    assert_eq!(tenant.wait(&a)["state"], "exited", "what runs goes on to its end");
    tenant.node_until(&path, "a", "succeeded");
    tenant.node_until(&path, "c", "retrying");
    std::thread::sleep(Duration::from_millis(1500));
    let told: Vec<Value> =
        ["a", "b", "c", "frozen"].iter().map(|name| tenant.node(&path, name)["state"].clone()).collect();
    assert_eq!(told, ["succeeded", "pending", "retrying", "running"]);
    assert_eq!(tenant.told(&path)["state"], "paused");
    assert_eq!(tenant.order(&path, "resume")["state"], "running");
    tenant.node_until(&path, "b", "succeeded");
    tenant.node_until(&path, "c", "failed");
    assert_eq!(
        (tenant.get(&frozen)["state"].clone(), tenant.told(&path)["state"].clone()),
        (json!("paused"), json!("running"))
    );
    assert_eq!(tenant.order(&path, "pause")["state"], "paused");
    assert_eq!(tenant.control(&frozen, "resume").status, 204);
    assert_eq!(tenant.control(&frozen, "kill").status, 204);
    tenant.node_until(&path, "frozen", "failed");
    assert_eq!(tenant.told(&path)["state"], "paused", "although all have ended");
    assert_eq!(tenant.order(&path, "resume")["state"], "failed");
    let kinds: Vec<Value> = tenant.events(&path).into_iter().filter(|event| event["kind"] == "workflow").collect();
    let states: Vec<&Value> = kinds.iter().map(|event| &event["to_state"]).collect();
    assert_eq!(states, ["pending", "running", "paused", "running", "paused", "running", "failed"]);
}
