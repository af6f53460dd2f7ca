//! Random graphs of real containers, and of people who decide, pause, kill, cancel and retry meanwhile, judged by the naive
//! model: what the events tell is its history, and what follows from each of them must be what they tell next.
//!
//! `QUINTET_WORKFLOW_GRAPHS=N` tries so many (`QUINTET_WORKFLOW_GRAPHS_SEED` the first of them).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use quintet_platform::clock::parse_rfc3339;
use serde_json::{Value, json};

use super::judge::{Act, Came, SECOND, Shape, Told};
use super::{PATIENCE, gate, node_with};
use crate::runs::{Tenant, shared};
use crate::support::appliance::rounds;

/// What the container of a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Says its name and ends with this code.
    Says(i64),
    /// Says nothing that is JSON, and ends with this code.
    Mumbles(i64),
    /// Stays until somebody ends it.
    Stays,
    /// Stays, and has a second.
    Overruns,
}

impl Fate {
    fn random(random: &mut fastrand::Rng) -> Fate {
        let code = if random.u8(..4) == 0 { random.i64(1..5) } else { 0 };
        match random.u8(..16) {
            0 | 1 => Fate::Stays,
            2 => Fate::Overruns,
            3 | 4 => Fate::Mumbles(code),
            _ => Fate::Says(code),
        }
    }

    /// First it tells what it was given.
    fn script(self, name: &str) -> String {
        let tail = match self {
            Fate::Says(code) => format!("echo '\"{name}\"'; exit {code}"),
            Fate::Mumbles(code) => format!("echo 'done'; exit {code}"),
            Fate::Stays | Fate::Overruns => "exec sleep 1000".to_owned(),
        };
        format!("env | grep ^SVC_; {tail}")
    }
}

/// One graph, and what its containers do.
struct Plan {
    shape: Shape,
    fates: BTreeMap<String, Fate>,
    seed: u64,
}

impl Plan {
    fn random(seed: u64) -> Plan {
        let mut random = fastrand::Rng::with_seed(seed);
        // Now and then as many as a tenant may have by default.
        let count = if random.u8(..30) == 0 { random.usize(20..=50) } else { random.usize(1..=8) };
        let mut shape = Shape::random(&mut random, count, false);
        shape.starts_at = 0;
        for (_, _, _, backoff, expiry) in &mut shape.nodes {
            (*backoff, *expiry) = (i64::from(random.u8(..4) == 0), None);
        }
        let fates = shape.nodes.iter().map(|node| (node.0.clone(), Fate::random(&mut random))).collect();
        Plan { shape, fates, seed }
    }

    /// Whoever has an edge to it.
    fn upstream(&self, name: &str) -> Vec<&String> {
        self.shape.edges.iter().filter(|edge| edge.1 == name).map(|edge| &edge.0).collect()
    }

    fn body(&self) -> Value {
        let node = |(name, is_gate, retries, backoff, _): &(String, bool, u32, i64, Option<i64>)| {
            if *is_gate {
                return gate(name);
            }
            let more = json!({
                "retries": retries,
                "retry_backoff_seconds": backoff,
                "inputs_from": self.upstream(name),
                "timeout_seconds": if self.fates[name] == Fate::Overruns { 1 } else { 600 },
            });
            node_with(name, &self.fates[name].script(name), more)
        };
        let nodes: Vec<Value> = self.shape.nodes.iter().map(node).collect();
        let condition = |edge: &(String, String, bool, bool)| match (edge.2, edge.3) {
            (true, false) => "on_success",
            (false, _) => "on_failure",
            (true, true) => "always",
        };
        let edge =
            |edge: &(String, String, bool, bool)| json!({"from": edge.0, "to": edge.1, "condition": condition(edge)});
        let edges: Vec<Value> = self.shape.edges.iter().map(edge).collect();
        let policy = if self.shape.is_fail_fast { "fail_fast" } else { "continue" };
        json!({"failure_policy": policy, "nodes": nodes, "edges": edges})
    }
}

/// Those who meddle with one workflow, one thing after the other.
struct Life<'a> {
    tenant: &'a Tenant,
    plan: &'a Plan,
    path: String,
    random: fastrand::Rng,
    /// Nodes that were retried, each with those that went with it.
    retried: VecDeque<(String, Vec<String>)>,
    /// Runs that were told to end.
    ended: BTreeSet<String>,
    /// Runs that had ended and were deleted.
    deleted: BTreeSet<String>,
}

impl Life<'_> {
    fn send(&self, way: &str) -> Option<Value> {
        let answer = self.tenant.client.send("POST", &format!("{}/{way}", self.path), &[], b"");
        assert!([200, 409].contains(&answer.status), "{way}: {answer:?}");
        (answer.status == 200).then(|| answer.json())
    }

    fn retry(&mut self) {
        let name = self.random.choice(&self.plan.shape.nodes).unwrap().0.clone();
        if let Some(told) = self.send(&format!("nodes/{name}/retry")) {
            let reset = told["reset"].as_array().unwrap().iter();
            self.retried.push_back((name, reset.map(|name| name.as_str().unwrap().to_owned()).collect()));
        }
    }

    /// Until it has ended, and is not revived again.
    fn live(&mut self) {
        let (until, mut revivals) = (Instant::now() + PATIENCE, self.random.u32(..3));
        loop {
            let told = self.tenant.told(&self.path);
            match told["state"].as_str().unwrap() {
                "succeeded" | "failed" | "cancelled" if revivals == 0 => return,
                "succeeded" | "failed" | "cancelled" => {
                    revivals -= 1;
                    self.retry();
                }
                "paused" if self.random.u8(..3) == 0 => drop(self.send("resume")),
                _ => self.meddle(&told),
            }
            assert!(Instant::now() < until, "seed {}: it does not end: {told}", self.plan.seed);
            std::thread::sleep(Duration::from_millis(self.random.u64(5..25)));
        }
    }

    fn meddle(&mut self, told: &Value) {
        match self.random.u8(..60) {
            0 => drop(self.send("cancel")),
            1 | 2 => drop(self.send("pause")),
            3..8 => self.retry(),
            _ => {}
        }
        for node in told["nodes"].as_array().unwrap() {
            let name = node["ref"].as_str().unwrap();
            if node["state"] == "waiting_approval" && self.random.bool() {
                let way = if self.random.u8(..4) > 0 { "approve" } else { "reject" };
                self.send(&format!("nodes/{name}/{way}"));
            }
            let stays = node["state"] == "running" && self.plan.fates[name] == Fate::Stays;
            if let Some(run) = node["current_track_id"].as_str().filter(|run| stays && !self.ended.contains(*run)) {
                let action = if self.random.bool() { "kill" } else { "stop" };
                if self.tenant.control(run, action).status == 204 {
                    self.ended.insert(run.to_owned());
                }
            }
            let is_over = ["succeeded", "failed"].contains(&node["state"].as_str().unwrap());
            if let Some(run) = node["current_track_id"].as_str().filter(|_| is_over && self.random.u8(..20) == 0) {
                let answer = self.tenant.client.send("DELETE", &format!("/api/v1/runs/{run}"), &[], b"");
                assert!([200, 204, 404].contains(&answer.status), "{answer:?}");
                self.deleted.insert(run.to_owned());
            }
        }
    }
}

/// The events of a workflow as the model has lived them.
struct Replay<'a> {
    life: &'a Life<'a>,
    began: i64,
    history: Vec<(i64, Act)>,
    retried: VecDeque<(String, Vec<String>)>,
    /// Refs that are still to be told of as reset.
    reset: VecDeque<String>,
    has_output: BTreeSet<String>,
    /// What the attempts were given: runs, and the lines that they tell of it.
    given: Vec<(String, Vec<String>)>,
}

fn micros(time: &Value) -> i64 {
    parse_rfc3339(time.as_str().unwrap()).unwrap().as_micros()
}

impl Replay<'_> {
    fn told(&self) -> Told {
        let told = self.life.plan.shape.judge(&self.history);
        told.unwrap_or_else(|| panic!("seed {}: this cannot have happened: {:?}", self.life.plan.seed, self.history))
    }

    fn state_of(&self, name: &str) -> (&'static str, u32) {
        self.told().nodes[name]
    }

    fn push(&mut self, at: i64, act: Act) {
        self.history.push((at - self.began, act));
    }

    fn event(&mut self, event: &Value) {
        let (at, state, detail) = (micros(&event["created_at"]), event["to_state"].as_str().unwrap(), &event["detail"]);
        let Some(name) = event["node_ref"].as_str() else { return self.of_workflow(at, state) };
        match state {
            "pending" => {
                if self.reset.is_empty() {
                    let (retried, reset) = self.retried.pop_front().unwrap();
                    self.push(at, Act::Retry(retried));
                    self.reset = reset.into();
                }
                assert_eq!(self.reset.pop_front().as_deref(), Some(name), "{:?}", self.history);
                self.has_output.remove(name);
            }
            "cancelled" if self.told().workflow != "cancelled" => self.push(at, Act::Cancel),
            "running" => self.launched(at, name, detail),
            "retrying" => {
                // From the end of its run, which was noticed a little later.
                let node = self.life.plan.shape.nodes.iter().find(|node| node.0 == name).unwrap();
                self.push(micros(&detail["retry_at"]) - node.3 * SECOND, Act::Ends(name.to_owned(), Came::Badly));
                self.returned(name, detail);
            }
            "succeeded" | "failed" => self.ended(at, name, state == "succeeded", detail),
            _ => {}
        }
        let now = self.state_of(name).0;
        // What is tried again at once is told of next.
        let is_again = state == "retrying" && now == "running";
        // All of the closure is told of as reset first, and then what follows from that.
        let is_told = state == "pending" || now == state || is_again;
        assert!(is_told, "seed {}: {event}, but the model has {now}: {:?}", self.life.plan.seed, self.history);
    }

    fn of_workflow(&mut self, at: i64, state: &str) {
        let now = self.told().workflow;
        match state {
            "running" if now == "paused" => self.push(at, Act::Resume),
            "paused" => self.push(at, Act::Pause),
            "cancelled" if now != "cancelled" => self.push(at, Act::Cancel),
            "succeeded" | "failed" => assert_eq!(now, state, "seed {}: {:?}", self.life.plan.seed, self.history),
            _ => {}
        }
    }

    fn launched(&mut self, at: i64, name: &str, detail: &Value) {
        if self.state_of(name).0 == "retrying" {
            self.push(at, Act::Clock);
        }
        assert_eq!(detail["attempt"], self.state_of(name).1, "seed {}: {:?}", self.life.plan.seed, self.history);
        let with_output = |from: &&&String| self.has_output.contains(from.as_str());
        let upstream = self.life.plan.upstream(name);
        let mut given: Vec<String> = upstream
            .iter()
            .filter(with_output)
            .map(|from| format!("SVC_INPUT_{}=\"{from}\"", from.to_uppercase()))
            .collect();
        given.sort_unstable();
        self.given.push((detail["track_id"].as_str().unwrap().to_owned(), given));
    }

    /// Its container came to its end by itself.
    fn returned(&self, name: &str, detail: &Value) {
        if self.life.plan.fates[name] == Fate::Overruns {
            return assert_eq!(detail["reason"], "timeout", "{name}: {detail}");
        }
        let (Fate::Says(code) | Fate::Mumbles(code)) = self.life.plan.fates[name] else {
            panic!("{name} stays: {detail}")
        };
        assert_eq!(detail["exit_code"], code, "{name}: {detail}");
    }

    fn ended(&mut self, at: i64, name: &str, is_success: bool, detail: &Value) {
        if detail["decision"].is_string() || detail["reason"] == "rejected" {
            return self.push(at, Act::Decide(name.to_owned(), is_success));
        }
        let came = match self.life.plan.fates[name] {
            Fate::Stays => {
                assert!(["killed", "stopped"].contains(&detail["reason"].as_str().unwrap()), "{name}: {detail}");
                Came::ToAWish
            }
            Fate::Overruns => {
                self.returned(name, detail);
                Came::Broken
            }
            Fate::Says(code) | Fate::Mumbles(code) => {
                self.returned(name, detail);
                assert_eq!(code == 0, is_success, "{name}: {detail}");
                if is_success { Came::Well } else { Came::Badly }
            }
        };
        self.push(at, Act::Ends(name.to_owned(), came));
        if matches!(self.life.plan.fates[name], Fate::Says(_)) {
            self.has_output.insert(name.to_owned());
        }
    }
}

/// One graph from its submission to its last end; how many attempts were made.
fn a_life(tenant: &Tenant, seed: u64) -> usize {
    let plan = Plan::random(seed);
    let path = tenant.workflow(&plan.body());
    let random = fastrand::Rng::with_seed(seed);
    let mut life = Life {
        tenant,
        plan: &plan,
        path,
        random,
        retried: VecDeque::new(),
        ended: BTreeSet::new(),
        deleted: BTreeSet::new(),
    };
    life.live();
    let told = tenant.told(&life.path);
    let mut replay = Replay {
        life: &life,
        began: micros(&told["submitted_at"]),
        history: Vec::new(),
        retried: life.retried.clone(),
        reset: VecDeque::new(),
        has_output: BTreeSet::new(),
        given: Vec::new(),
    };
    for event in tenant.events(&life.path) {
        replay.event(&event);
    }
    let nodes = told["nodes"].as_array().unwrap().iter();
    let now: BTreeMap<&str, (&str, u64)> = nodes
        .map(|node| {
            (node["ref"].as_str().unwrap(), (node["state"].as_str().unwrap(), node["attempt"].as_u64().unwrap()))
        })
        .collect();
    let model = replay.told();
    let expected: BTreeMap<&str, (&str, u64)> =
        model.nodes.iter().map(|(name, (state, attempt))| (name.as_str(), (*state, u64::from(*attempt)))).collect();
    assert_eq!((told["state"].as_str(), now), (Some(model.workflow), expected), "seed {seed}: {:?}", replay.history);
    assert!(replay.retried.is_empty() && replay.reset.is_empty(), "seed {seed}: a retry was not told of");
    let is_there = |given: &&(String, Vec<String>)| !life.deleted.contains(&given.0);
    for (run, given) in replay.given.iter().filter(is_there) {
        // Who was ended by somebody may have said nothing yet.
        if ["exited", "failed"].contains(&tenant.wait(run)["state"].as_str().unwrap()) && !life.ended.contains(run) {
            let mut lines = tenant.lines(run);
            lines.retain(|line| line.starts_with("SVC_"));
            lines.sort_unstable();
            assert_eq!(lines, *given, "seed {seed}: {}", tenant.get(run));
        }
    }
    replay.given.len()
}

#[test]
fn graphs_of_containers_live_as_the_model_says() {
    let Some(house) = shared() else { return };
    let graphs = rounds("QUINTET_WORKFLOW_GRAPHS", 60) as u64;
    let first = rounds("QUINTET_WORKFLOW_GRAPHS_SEED", 1) as u64;
    let next = std::sync::atomic::AtomicU64::new(first);
    let attempts: usize = std::thread::scope(|scope| {
        let lives = || {
            let tenant = house.tenant();
            let mut attempts = 0;
            loop {
                let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if seed >= first + graphs {
                    return attempts;
                }
                attempts += a_life(&tenant, seed);
            }
        };
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(lives)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(attempts as u64 >= graphs, "{attempts} containers in {graphs} graphs");
}
