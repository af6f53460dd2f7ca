//! Workflows of real containers: what goes from one to the next, how they end, and what becomes of them when things are
//! killed in between.

mod cancels;
mod graphs;
#[path = "../../../src/runs/workflows/tests/judge.rs"]
mod judge;
mod kills;
mod messages;
mod policies;
mod secrets;
mod witness;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::runs::Tenant;

const WORKFLOWS: &str = "/api/v1/workflows";
/// Until a workflow ends: its containers may have to wait for those of other tests.
const PATIENCE: Duration = Duration::from_secs(240);

/// A node that runs a shell script.
fn node(reference: &str, script: &str) -> Value {
    json!({"ref": reference, "image": "busybox:test", "command": ["sh", "-c", script], "memory_limit_mb": 64})
}

/// The same with more members.
fn node_with(reference: &str, script: &str, more: Value) -> Value {
    let mut node = node(reference, script);
    node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    node
}

fn gate(reference: &str) -> Value {
    json!({"ref": reference, "type": "approval"})
}

/// Edges from their ends and conditions.
fn edges(edges: &[(&str, &str, &str)]) -> Value {
    edges.iter().map(|(from, to, condition)| json!({"from": from, "to": to, "condition": condition})).collect()
}

impl Tenant {
    /// Submits a workflow; its path.
    fn workflow(&self, body: &Value) -> String {
        let told = self.client.post(WORKFLOWS, body).expect(202);
        format!("{WORKFLOWS}/{}", told["workflow_id"].as_str().unwrap())
    }

    fn told(&self, path: &str) -> Value {
        self.client.get(path).expect(200)
    }

    fn node(&self, path: &str, reference: &str) -> Value {
        let nodes = self.told(path)["nodes"].as_array().unwrap().clone();
        nodes.into_iter().find(|node| node["ref"] == reference).unwrap()
    }

    fn detail(&self, path: &str, reference: &str) -> Value {
        self.told(&format!("{path}/nodes/{reference}"))
    }

    fn events(&self, path: &str) -> Vec<Value> {
        self.told(&format!("{path}/events?limit=1000")).as_array().unwrap().clone()
    }

    /// What is told of the nodes by events: ref, state and detail, in order.
    fn happened(&self, path: &str, reference: &str) -> Vec<(String, Value)> {
        let events = self.events(path).into_iter().filter(|event| event["node_ref"] == reference);
        events.map(|event| (event["to_state"].as_str().unwrap().to_owned(), event["detail"].clone())).collect()
    }

    fn order(&self, path: &str, way: &str) -> Value {
        self.client.send("POST", &format!("{path}/{way}"), &[], b"").expect(200)
    }

    /// Waits for the end of a workflow; its result.
    fn result_of(&self, path: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let told = self.told(&format!("{path}?wait=30"));
            if ["succeeded", "failed", "cancelled"].contains(&told["state"].as_str().unwrap()) {
                return self.told(&format!("{path}/result"));
            }
            assert!(Instant::now() < until, "it does not end: {told}");
        }
    }

    /// Waits until a node is in this state.
    fn node_until(&self, path: &str, reference: &str, state: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let node = self.node(path, reference);
            if node["state"] == state {
                return node;
            }
            assert!(Instant::now() < until, "{reference} does not become {state}: {}", self.told(path));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The run of a node's latest attempt.
    fn run_of(&self, path: &str, reference: &str) -> String {
        self.node(path, reference)["current_track_id"].as_str().unwrap().to_owned()
    }

    /// Waits until the container of a node's latest attempt has written this line.
    fn node_says(&self, path: &str, reference: &str, line: &str) -> String {
        self.node_until(path, reference, "running");
        let run = self.run_of(path, reference);
        self.until(&run, "running");
        crate::runs::wait_until(line, || self.lines(&run).iter().any(|said| said == line));
        run
    }
}

/// The states of the nodes of a result, by their refs.
fn states(result: &Value) -> Vec<(&str, &str)> {
    let nodes = result["nodes"].as_array().unwrap().iter();
    nodes.map(|node| (node["ref"].as_str().unwrap(), node["final_state"].as_str().unwrap())).collect()
}
