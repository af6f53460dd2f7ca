//! How long others wait beside the largest graphs: one tenant submits graphs of a thousand nodes and has them go on, another
//! asks for small things at a steady pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::appliance::Appliance;
use super::client::{Connection, Tenant};

/// Nodes of a graph, and the most edges that it may have.
const NODES: usize = 1_000;
const EDGES: usize = 5_000;
/// How long each kind of work goes on, and how often others ask meanwhile.
const TIME: Duration = Duration::from_secs(10);
const PACE: Duration = Duration::from_millis(5);

/// What is done with the largest graphs.
type Work = for<'c> fn(&'c mut Connection) -> super::client::Done<'c>;

/// Prints how long others wait beside each kind of work.
pub fn measure(appliance: &Appliance) {
    let (large, small) = (Tenant::new(appliance, "largest"), Tenant::new(appliance, "others"));
    println!(
        "\nothers beside graphs of {NODES} nodes, one after the other: a workflow of one gate, and what is used, in ms"
    );
    println!(
        "| beside | of these | they took, median | a workflow: p50 | p99 | longest | what is used: p50 | p99 | longest |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let works: [(&str, Option<Work>); 5] = [
        ("nothing", None),
        ("999 containers behind one gate: submitted, decided, cancelled", Some(|c| Box::pin(fan(c)))),
        ("a thousand containers at once: submitted, cancelled", Some(|c| Box::pin(roots(c)))),
        ("a thousand gates with 5,000 edges: submitted, ten decided, cancelled", Some(|c| Box::pin(dense(c)))),
        ("a chain of a thousand whose first gate is rejected", Some(|c| Box::pin(skipped(c)))),
    ];
    for (name, work) in works {
        row(&large, &small, name, work);
    }
}

fn row(large: &Tenant, small: &Tenant, name: &str, work: Option<Work>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let busy = work.map(|work| {
        let (large, is_over) = (large.clone(), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let mut took = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                took.extend(large.at_once(1, 1, work));
            }
            took
        })
    });
    let others = [others(small, true), others(small, false)].map(|other| other.join().unwrap());
    is_over.store(true, Ordering::Relaxed);
    let mut took = busy.map_or_else(Vec::new, |busy| busy.join().unwrap());
    let [workflows, usage] = others.map(told);
    println!("| {name} | {} | {} | {workflows} | {usage} |", took.len(), middle(&mut took));
}

/// Somebody who asks at a steady pace; how long each took, from when it was due.
fn others(small: &Tenant, submits: bool) -> std::thread::JoinHandle<Vec<f64>> {
    let small = small.clone();
    std::thread::spawn(move || {
        let ask = move |connection: &mut Connection, due: Instant| -> super::client::Done<'_> {
            Box::pin(async move {
                if !submits {
                    connection.get("/api/v1/usage").await;
                    return due.elapsed().as_secs_f64();
                }
                let body = json!({"nodes": [{"ref": "g", "type": "approval"}]}).to_string();
                let answer = connection.post("/api/v1/workflows", &body).await;
                let took = due.elapsed().as_secs_f64();
                connection.post(&format!("/api/v1/workflows/{}/cancel", id_of(&answer)), "").await;
                took
            })
        };
        small.paced(TIME, PACE, ask)
    })
}

fn id_of(answer: &Value) -> &str {
    answer["workflow_id"].as_str().unwrap()
}

fn middle(took: &mut [f64]) -> String {
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).map_or_else(String::new, |seconds| format!("{:.0}", seconds * 1e3))
}

fn told(mut took: Vec<f64>) -> String {
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize] * 1e3;
    format!("{:.2} | {:.1} | {:.1}", at(0.5), at(0.99), at(1.0))
}

fn container(reference: String) -> Value {
    json!({"ref": reference, "image": "busybox", "command": ["true"]})
}

fn gate(reference: String) -> Value {
    json!({"ref": reference, "type": "approval"})
}

/// Submits a graph, does something with it, cancels it if it goes on; how long that took.
async fn of_graph(connection: &mut Connection, body: Value, ways: &[String], goes_on: bool) -> f64 {
    let body = body.to_string();
    let begun = Instant::now();
    let answer = connection.post("/api/v1/workflows", &body).await;
    let path = format!("/api/v1/workflows/{}", id_of(&answer));
    for way in ways {
        connection.post(&format!("{path}/{way}"), "").await;
    }
    if goes_on {
        connection.post(&format!("{path}/cancel"), "").await;
    }
    // All of it, however many transactions that takes.
    let (mut since, ends) = (0, json!(if goes_on { "cancelled" } else { "failed" }));
    loop {
        let events = connection.get(&format!("{path}/events?since={since}&limit=1000")).await;
        let Some(last) = events.as_array().unwrap().last() else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        if last["node_ref"].is_null() && last["to_state"] == ends {
            return begun.elapsed().as_secs_f64();
        }
        since = last["id"].as_u64().unwrap();
    }
}

async fn fan(connection: &mut Connection) -> f64 {
    let nodes: Vec<Value> =
        std::iter::once(gate("g".into())).chain((1..NODES).map(|n| container(format!("n{n}")))).collect();
    let edges: Vec<Value> = (1..NODES).map(|n| json!({"from": "g", "to": format!("n{n}")})).collect();
    of_graph(connection, json!({"nodes": nodes, "edges": edges}), &["nodes/g/approve".into()], true).await
}

async fn roots(connection: &mut Connection) -> f64 {
    let nodes: Vec<Value> = (0..NODES).map(|n| container(format!("n{n}"))).collect();
    of_graph(connection, json!({"nodes": nodes}), &[], true).await
}

async fn dense(connection: &mut Connection) -> f64 {
    let nodes: Vec<Value> = (0..NODES).map(|n| gate(format!("n{n}"))).collect();
    let ends = (0..NODES).flat_map(|from| (from + 1..(from + 6).min(NODES)).map(move |to| (from, to)));
    let edges: Vec<Value> =
        ends.take(EDGES).map(|(from, to)| json!({"from": format!("n{from}"), "to": format!("n{to}")})).collect();
    let ways: Vec<String> = (0..10).map(|n| format!("nodes/n{n}/approve")).collect();
    of_graph(connection, json!({"nodes": nodes, "edges": edges}), &ways, true).await
}

async fn skipped(connection: &mut Connection) -> f64 {
    let nodes: Vec<Value> = (0..NODES).map(|n| gate(format!("n{n}"))).collect();
    let edges: Vec<Value> = (1..NODES).map(|n| json!({"from": format!("n{}", n - 1), "to": format!("n{n}")})).collect();
    of_graph(connection, json!({"nodes": nodes, "edges": edges}), &["nodes/n0/reject".into()], false).await
}
