//! Workflows: what the engine takes for a node, beside DBOS and Restate; how soon what waits for a decision is launched; a
//! chain of containers beside a client that submits them one by one; what others wait for beside the largest graph; what
//! many that wait cost.
//!
//! `cargo bench --bench workflows [-- ROUNDS] [gates] [fan] [beside] [containers] [waiting]` prints the best of ROUNDS, taken
//! in turn; `make bench-workflows` installs what it needs. Everything is on one machine, and durable.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

#[path = "../appliance/mod.rs"]
mod appliance;
mod beside;
#[path = "../appliance/bundle.rs"]
mod bundle;
mod client;
mod containers;
#[path = "../appliance/postgres.rs"]
mod postgres;
#[path = "../appliance/processes.rs"]
mod processes;
mod rivals;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use appliance::Appliance;
use client::{Connection, Tenant};
use processes::cpu_seconds;
use rivals::{Dbos, Restate, packages};

/// Nodes of a chain.
const NODES: usize = 40;
/// Chains of a round, one after the other; and so many at once.
const CHAINS: usize = 20;
const CHAINS_AT_ONCE: usize = 64;
const AT_ONCE: usize = 16;
/// Workflows that wait, of so many tenants, and for how long they are watched.
const WAITING: usize = 10_000;
const WAITING_TENANTS: usize = 10;
const WATCHED: Duration = Duration::from_secs(30);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(3);
    let parts: Vec<&str> = arguments.iter().map(String::as_str).filter(|part| part.parse::<usize>().is_err()).collect();
    let is_asked = |part: &str| parts.is_empty() || parts.contains(&part);
    let appliance = Appliance::start(&std::env::temp_dir(), &[("QUINTET_RUNS__RUNNER_SOCKET", "off")]);
    if is_asked("gates") {
        gates(&appliance, rounds);
    }
    if is_asked("fan") {
        fan(&appliance, rounds);
    }
    if is_asked("beside") {
        beside::measure(&appliance);
    }
    if is_asked("waiting") {
        waiting(&appliance);
    }
    if is_asked("containers") {
        containers::measure(rounds);
    }
}

/// What a chain takes, in milliseconds a node: the median of chains one after the other; nodes a second where many go at
/// once; CPU of a node then, in microseconds.
#[derive(Clone, Copy)]
struct Chains {
    node_millis: f64,
    per_second: f64,
    cpu_micros: f64,
}

impl Chains {
    /// From what chains took one after the other, and what many took at once.
    fn of(mut alone: Vec<f64>, seconds: f64, cpu_seconds: f64) -> Chains {
        alone.sort_by(f64::total_cmp);
        let nodes = (CHAINS_AT_ONCE * NODES) as f64;
        Chains {
            node_millis: alone[alone.len() / 2] * 1e3 / NODES as f64,
            per_second: nodes / seconds,
            cpu_micros: cpu_seconds * 1e6 / nodes,
        }
    }

    fn better(self, other: Chains) -> Chains {
        Chains {
            node_millis: self.node_millis.min(other.node_millis),
            per_second: self.per_second.max(other.per_second),
            cpu_micros: self.cpu_micros.min(other.cpu_micros),
        }
    }
}

fn best(all: &[Chains]) -> Chains {
    all.iter().copied().reduce(Chains::better).unwrap()
}

/// A chain of gates, each decided as soon as the one before was: a call for each, whose answer says that the next is open.
fn gates(appliance: &Appliance, rounds: usize) {
    let packages = packages();
    let (dbos, restate) = (Dbos::start(&packages, NODES), Restate::start(&packages, NODES));
    let tenant = Tenant::new(appliance, "gates");
    let (mut ours, mut theirs) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..rounds {
        ours.push(our_chains(appliance, &tenant));
        theirs[0].push(their_chains(|chains, at_once| dbos.run(chains, at_once), || dbos.cpu_seconds()));
        theirs[1].push(their_chains(|chains, at_once| restate.run(chains, at_once), || restate.cpu_seconds()));
    }
    let own = best(&ours);
    println!(
        "chains of {NODES} nodes, best of {rounds} rounds: {CHAINS} one after the other; {CHAINS_AT_ONCE}, {AT_ONCE} at once"
    );
    println!("| what | ms a node, alone | ours is | nodes/s, many at once | ours is | CPU, µs a node |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| quintet, a gate decided over HTTP | {:.2} | | {:.0} | | {:.0} |",
        own.node_millis, own.per_second, own.cpu_micros
    );
    for (name, all) in ["DBOS on PostgreSQL, a step", "Restate, a service call"].iter().zip(&theirs) {
        let found = best(all);
        println!(
            "| {name} | {:.2} | {:.2} of it | {:.0} | {:.1} times as many | {:.0} |",
            found.node_millis,
            own.node_millis / found.node_millis,
            found.per_second,
            own.per_second / found.per_second,
            found.cpu_micros,
        );
    }
}

fn our_chains(appliance: &Appliance, tenant: &Tenant) -> Chains {
    let run = |chains: usize, at_once: usize| {
        let begun = Instant::now();
        let each = tenant.at_once(chains, at_once, |connection| Box::pin(chain(connection)));
        (begun.elapsed().as_secs_f64(), each)
    };
    let (_, alone) = run(CHAINS, 1);
    let before = cpu_seconds(appliance.id());
    let (seconds, _) = run(CHAINS_AT_ONCE, AT_ONCE);
    Chains::of(alone, seconds, cpu_seconds(appliance.id()) - before)
}

/// Submits a chain of gates and decides them all; how long that took.
async fn chain(connection: &mut Connection) -> f64 {
    let nodes: Vec<Value> = (0..NODES).map(|number| json!({"ref": format!("g{number}"), "type": "approval"})).collect();
    let edges = (1..NODES).map(|number| json!({"from": format!("g{}", number - 1), "to": format!("g{number}")}));
    let body = json!({"nodes": nodes, "edges": edges.collect::<Vec<_>>()}).to_string();
    let begun = Instant::now();
    let answer = connection.post("/api/v1/workflows", &body).await;
    let id = answer["workflow_id"].as_str().unwrap();
    for number in 0..NODES {
        connection.post(&format!("/api/v1/workflows/{id}/nodes/g{number}/approve"), "").await;
    }
    begun.elapsed().as_secs_f64()
}

fn their_chains(run: impl Fn(usize, usize) -> (f64, Vec<f64>), cpu: impl Fn() -> f64) -> Chains {
    let (_, alone) = run(CHAINS, 1);
    let before = cpu();
    let (seconds, _) = run(CHAINS_AT_ONCE, AT_ONCE);
    Chains::of(alone, seconds, cpu() - before)
}

/// Fifty containers behind one gate: how long its decision takes, in which all their runs are made.
fn fan(appliance: &Appliance, rounds: usize) {
    let tenant = Tenant::new(appliance, "fan");
    let mut nodes = vec![json!({"ref": "gate", "type": "approval"})];
    nodes.extend((0..49).map(|number| json!({"ref": format!("n{number}"), "image": "busybox", "command": ["true"]})));
    let edges: Vec<Value> = (0..49).map(|number| json!({"from": "gate", "to": format!("n{number}")})).collect();
    let body = json!({"nodes": nodes, "edges": edges}).to_string();
    let mut took = Vec::new();
    for _ in 0..rounds.max(3) {
        let body = body.clone();
        took.extend(tenant.at_once(5, 1, move |connection| {
            let body = body.clone();
            Box::pin(async move {
                let answer = connection.post("/api/v1/workflows", &body).await;
                let path = format!("/api/v1/workflows/{}", answer["workflow_id"].as_str().unwrap());
                let begun = Instant::now();
                connection.post(&format!("{path}/nodes/gate/approve"), "").await;
                let took = begun.elapsed().as_secs_f64();
                let workflow = connection.get(&path).await;
                let is_launched = |node: &Value| node["ref"] == "gate" || node["state"] == "running";
                assert!(workflow["nodes"].as_array().unwrap().iter().all(is_launched), "{workflow}");
                connection.post(&format!("{path}/cancel"), "").await;
                took
            })
        }));
    }
    took.sort_by(f64::total_cmp);
    let millis = |seconds: f64| seconds * 1e3;
    println!(
        "\na gate is decided, and 49 containers behind it have their runs, over HTTP and durable; {} times",
        took.len()
    );
    println!("| median, ms | longest, ms |\n|---|---|");
    println!("| {:.1} | {:.1} |", millis(took[took.len() / 2]), millis(took[took.len() - 1]));
}

/// What the idle appliance takes of a processor, with nothing and with thousands of open gates that the clock will decide.
fn waiting(appliance: &Appliance) {
    let watched = || {
        let before = cpu_seconds(appliance.id());
        std::thread::sleep(WATCHED);
        (cpu_seconds(appliance.id()) - before) * 1e3 / WATCHED.as_secs_f64()
    };
    std::thread::sleep(Duration::from_secs(5));
    let alone = watched();
    let body = json!({"nodes": [{"ref": "g", "type": "approval", "expires_after_seconds": 86_400}]}).to_string();
    for number in 0..WAITING_TENANTS {
        let (tenant, body) = (Tenant::new(appliance, &format!("waiting-{number}")), body.clone());
        tenant.at_once(WAITING / WAITING_TENANTS, AT_ONCE, move |connection| {
            let body = body.clone();
            Box::pin(async move {
                connection.post("/api/v1/workflows", &body).await;
                0.0
            })
        });
    }
    std::thread::sleep(Duration::from_secs(5));
    let with = watched();
    println!("\nthe idle appliance's CPU, ms a second, over {} s", WATCHED.as_secs());
    println!("| with nothing | with {WAITING} workflows that wait | memory then, MiB |\n|---|---|---|");
    println!("| {alone:.2} | {with:.2} | {} |", appliance.resident_mib());
}
