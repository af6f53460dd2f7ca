//! Whatever a cancelled workflow has running dies, whoever is killed in between, and no longer matters to it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{edges, gate, node, node_with, states};
use crate::runs::{House, Tenant, shared, wait_until};

/// It does not end by itself, and not by a polite word either.
const STAYS: &str = "trap '' TERM; echo here; sleep 1000";

fn alive(pid: &i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The processes of a run's container, outside.
fn processes(house: &House, run: &str) -> Vec<i32> {
    let containers = house.runner.runner.list().unwrap();
    let container = containers.iter().find(|status| status.id.as_str().starts_with(run)).unwrap();
    let found = house.runner.processes(&container.id);
    assert!(!found.is_empty(), "it has no processes");
    found
}

/// The run has been killed, and its node knows nothing of it.
fn died(tenant: &Tenant, run: &str) {
    let told = tenant.wait(run);
    assert_eq!(told["state"], "killed", "{told}");
    let reason = told["reason"].as_str().unwrap();
    assert!(["killed", "workflow_cancelled"].contains(&reason), "{told}");
}

#[test]
fn whatever_a_cancelled_workflow_was_doing_ends() {
    let Some(house) = shared() else { return };
    let tenant_id = house.appliance().tenant();
    let tenant = house.tenant_of(&tenant_id);
    let admin = house.appliance().persona("runs", &tenant_id, &["svc_tenant_admin"]);
    let headers = [("content-type", "application/json")];
    admin.send("PUT", "/api/v1/tenant/quotas", &headers, b"{\"max_concurrent_runs\": 2}").expect(200);
    let nodes = json!([
        node_with("retries", "exit 3", json!({"retries": 1, "retry_backoff_seconds": 3600})),
        node("done", "echo 5"),
        node("runs", STAYS),
        node("frozen", STAYS),
        node("waits", "echo started"),
        node("behind", "echo started"),
        gate("open"),
    ]);
    let path = tenant.workflow(&json!({"nodes": nodes, "edges": edges(&[("frozen", "behind", "always")])}));
    tenant.node_until(&path, "retries", "retrying");
    tenant.node_until(&path, "done", "succeeded");
    let (runs, frozen) = (tenant.node_says(&path, "runs", "here"), tenant.node_says(&path, "frozen", "here"));
    assert_eq!(tenant.control(&frozen, "pause").status, 204);
    let waits = tenant.run_of(&path, "waits");
    assert_eq!(tenant.get(&waits)["state"], "scheduled", "there is no slot for it");
    let pids: Vec<i32> = [&runs, &frozen].iter().flat_map(|run| processes(house, run)).collect();
    assert_eq!(tenant.order(&path, "cancel")["state"], "cancelled");
    // All at once, whatever still lives.
    let result = tenant.told(&format!("{path}/result"));
    let expected = [
        ("retries", "cancelled"),
        ("done", "succeeded"),
        ("runs", "cancelled"),
        ("frozen", "cancelled"),
        ("waits", "cancelled"),
        ("behind", "cancelled"),
        ("open", "cancelled"),
    ];
    assert_eq!((&result["state"], states(&result)), (&json!("cancelled"), expected.to_vec()));
    let told = tenant.get(&waits);
    assert_eq!((&told["state"], &told["reason"]), (&json!("killed"), &json!("workflow_cancelled")));
    let refused = tenant.client.send("POST", &format!("{path}/cancel"), &[], b"");
    assert_eq!(refused.expect(409)["code"], "invalid_state");
    let events = tenant.events(&path);
    // A node is tried again at once, whether its container of before is dead or not.
    assert_eq!(tenant.order(&path, "nodes/runs/retry")["reset"], json!(["runs"]));
    let again = tenant.node_says(&path, "runs", "here");
    assert_ne!(again, runs);
    for run in [&runs, &frozen] {
        died(&tenant, run);
    }
    wait_until("their processes are gone", || !pids.iter().any(alive));
    let told = tenant.node(&path, "runs");
    assert_eq!(
        (&told["state"], &told["attempt"], &told["current_track_id"]),
        (&json!("running"), &json!(2), &json!(again))
    );
    let others: Vec<Value> =
        tenant.events(&path)[events.len()..].iter().map(|event| event["node_ref"].clone()).collect();
    assert!(others.iter().all(|name| name.is_null() || name == "runs"), "{others:?}");
    assert_eq!(tenant.order(&path, "cancel")["state"], "cancelled");
    died(&tenant, &again);
}

/// The server is killed right after it has answered; in the last round nobody could do anything about the wish before.
#[test]
fn a_wish_outlives_the_server_and_the_runner() {
    let Some(mut house) = House::start(&[]) else { return };
    let mut tenant = house.tenant();
    let live = ["a", "b", "c"];
    for round in 0..3 {
        let nodes: Vec<Value> = live.iter().map(|name| node(name, STAYS)).collect();
        let path = tenant.workflow(&json!({"nodes": nodes}));
        let runs: Vec<String> = live.iter().map(|name| tenant.node_says(&path, name, "here")).collect();
        let pids: Vec<i32> = runs.iter().flat_map(|run| processes(&house, run)).collect();
        if round == 2 {
            house.runner.kill_runner();
        }
        assert_eq!(tenant.order(&path, "cancel")["state"], "cancelled");
        house.kill_server();
        if round == 2 {
            std::thread::sleep(Duration::from_millis(300));
            assert!(pids.iter().all(alive), "they outlive whoever could end them");
            house.runner.start_runner().unwrap();
        }
        house.serve();
        tenant = house.again(&tenant);
        wait_until("the processes are gone", || !pids.iter().any(alive));
        for run in &runs {
            died(&tenant, run);
        }
        let result = tenant.result_of(&path);
        assert_eq!(states(&result), live.map(|name| (name, "cancelled")));
        assert_eq!(tenant.events(&path).last().unwrap()["to_state"], "cancelled");
    }
    house.assert_clean();
}

/// Cancelled while its containers are being made, and the server killed with the answer or shortly after it: wherever they
/// were, none is left.
#[test]
fn starts_that_are_cancelled_leave_nothing_behind() {
    let Some(mut house) = House::start(&[]) else { return };
    let mut tenant = house.tenant();
    let mut made = Vec::new();
    for round in 0..crate::support::appliance::rounds("QUINTET_WORKFLOW_CANCELS", 6) {
        let nodes: Vec<Value> = (0..6).map(|number| node(&format!("n{number}"), STAYS)).collect();
        let path = tenant.workflow(&json!({"nodes": nodes}));
        std::thread::sleep(Duration::from_millis((round * 23 % 120) as u64));
        assert_eq!(tenant.order(&path, "cancel")["state"], "cancelled");
        if round % 3 != 0 {
            std::thread::sleep(Duration::from_millis((round * 7 % 20) as u64));
            house.kill_server();
            house.serve();
            tenant = house.again(&tenant);
        }
        made.push(path);
    }
    for path in &made {
        let told = tenant.told(path);
        for node in told["nodes"].as_array().unwrap() {
            assert_eq!((&node["state"], &node["attempt"]), (&json!("cancelled"), &json!(1)), "{told}");
            died(&tenant, node["current_track_id"].as_str().unwrap());
        }
    }
    house.assert_clean();
}
