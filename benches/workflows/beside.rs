//! What others wait for, while somebody submits the largest graph there can be, launches all of it, reads it and cancels it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::appliance::Appliance;
use super::client::{Connection, Tenant};

/// The most nodes and edges of a workflow.
const NODES: usize = 1_000;
const EDGES: usize = 5_000;
/// How often the other one asks, and for how long.
const PACE: Duration = Duration::from_millis(5);
const TIME: Duration = Duration::from_secs(15);

/// What the other one waited, sorted, in milliseconds; and the graphs that went through meanwhile.
struct Waits {
    millis: Vec<f64>,
    graphs: usize,
}

/// Prints what a gate's submission and its decision take another tenant, alone and beside.
pub fn measure(appliance: &Appliance) {
    let (large, other) = (Tenant::new(appliance, "large"), Tenant::new(appliance, "other"));
    appliance.command(&["tenant", "quota", large.id(), "--service", "runs", "--max-nodes-per-workflow", "1000"]);
    let body = Arc::new(largest().to_string());
    println!("\na workflow of one gate submitted and decided by another tenant, each every {} ms", PACE.as_millis());
    println!("| beside | graphs | median, ms | p99, ms | longest, ms |\n|---|---|---|---|---|");
    let second = Duration::from_secs(1);
    let rows = [
        ("nothing", None),
        ("the largest graph, once a second", Some((&large, second))),
        ("the largest graph, one right behind the other", Some((&large, Duration::ZERO))),
    ];
    for (name, large) in rows {
        let Waits { millis, graphs } = waits(&other, large, &body);
        let at = |part: f64| millis[(part * (millis.len() - 1) as f64) as usize];
        println!("| {name} | {graphs} | {:.2} | {:.2} | {:.1} |", at(0.5), at(0.99), at(1.0));
    }
}

/// `large`: whose graphs go through meanwhile, and how long there is none between two of them.
fn waits(other: &Tenant, large: Option<(&Tenant, Duration)>, body: &Arc<String>) -> Waits {
    let is_over = Arc::new(AtomicBool::new(false));
    let beside = large.map(|(large, pause)| {
        let (large, body, is_over) = (large.clone(), Arc::clone(body), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let mut graphs = 0;
            while !is_over.load(Ordering::Relaxed) {
                let body = Arc::clone(&body);
                large.at_once(1, 1, move |connection| Box::pin(whole_life(connection, Arc::clone(&body))));
                graphs += 1;
                std::thread::sleep(pause);
            }
            graphs
        })
    });
    let begun = Instant::now();
    let mut millis = Vec::new();
    while begun.elapsed() < TIME {
        millis.extend(other.at_once(100, 1, |connection| Box::pin(small(connection))));
    }
    is_over.store(true, Ordering::Relaxed);
    millis.sort_by(f64::total_cmp);
    Waits { millis, graphs: beside.map_or(0, |beside| beside.join().unwrap()) }
}

/// One gate, submitted and decided: the longer of both waits, in milliseconds.
async fn small(connection: &mut Connection) -> f64 {
    tokio::time::sleep(PACE).await;
    let body = json!({"nodes": [{"ref": "g", "type": "approval"}]}).to_string();
    let begun = Instant::now();
    let answer = connection.post("/api/v1/workflows", &body).await;
    let submitted = begun.elapsed();
    let path = format!("/api/v1/workflows/{}/nodes/g/approve", answer["workflow_id"].as_str().unwrap());
    let begun = Instant::now();
    connection.post(&path, "").await;
    submitted.max(begun.elapsed()).as_secs_f64() * 1e3
}

/// The largest graph: submitted, its gate decided, so that all behind it is launched, read, cancelled.
async fn whole_life(connection: &mut Connection, body: Arc<String>) -> f64 {
    let answer = connection.post("/api/v1/workflows", &body).await;
    let path = format!("/api/v1/workflows/{}", answer["workflow_id"].as_str().unwrap());
    connection.post(&format!("{path}/nodes/gate/approve"), "").await;
    connection.get(&path).await;
    connection.post(&format!("{path}/cancel"), "").await;
    0.0
}

/// A gate, half of all nodes right behind it, and the other half behind nine of those each.
fn largest() -> Value {
    let width = NODES / 2;
    let mut nodes = vec![json!({"ref": "gate", "type": "approval"})];
    nodes
        .extend((1..NODES).map(|number| json!({"ref": format!("n{number}"), "image": "busybox", "command": ["true"]})));
    let first = (1..=width).map(|number| json!({"from": "gate", "to": format!("n{number}")}));
    let second = (width + 1..NODES).flat_map(|number| {
        (0..9).map(
            move |step| json!({"from": format!("n{}", 1 + (number + step * 53) % width), "to": format!("n{number}")}),
        )
    });
    let edges: Vec<Value> = first.chain(second).collect();
    assert!((EDGES - 10..=EDGES).contains(&edges.len()), "{} edges", edges.len());
    json!({"nodes": nodes, "edges": edges})
}
