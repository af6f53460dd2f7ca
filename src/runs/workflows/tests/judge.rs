//! The naive model itself: it knows graphs by the names of their nodes, keeps the whole history, and works out everything
//! anew from its beginning, as the contract tells it. It knows nothing of the engine: the tests with containers use it too.

use std::collections::BTreeMap;

/// What somebody did, or what happened outside.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// The clock went on.
    Clock,
    /// The run of a node ended: well, badly, or by somebody's wish.
    Ends(String, Came),
    Decide(String, bool),
    Pause,
    Resume,
    Cancel,
    Retry(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    Well,
    Badly,
    ToAWish,
}

/// A graph as the model has it.
#[derive(Debug)]
pub(super) struct Shape {
    /// Name, whether it is a gate, retries, backoff (in the unit of the history's times), the time after which the clock approves it.
    pub(super) nodes: Vec<(String, bool, u32, i64, Option<i64>)>,
    /// From, to, which ends it takes: success, failure.
    pub(super) edges: Vec<(String, String, bool, bool)>,
    pub(super) is_fail_fast: bool,
    pub(super) starts_at: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) workflow: &'static str,
    pub(super) nodes: BTreeMap<String, (&'static str, u32)>,
}

#[derive(Clone, Debug, Default)]
struct World {
    now: i64,
    workflow: &'static str,
    states: BTreeMap<String, &'static str>,
    attempts: BTreeMap<String, u32>,
    tries: BTreeMap<String, u32>,
    due: BTreeMap<String, i64>,
    failure_seen: bool,
}

fn over(state: &str) -> bool {
    ["succeeded", "failed", "skipped", "cancelled"].contains(&state)
}

impl Shape {
    /// What is told after all of this history of times and acts, from the beginning; none if the last act was not allowed.
    pub(super) fn judge(&self, history: &[(i64, Act)]) -> Option<Told> {
        let mut world = World { workflow: "pending", ..World::default() };
        for (name, ..) in &self.nodes {
            world.states.insert(name.clone(), "pending");
            world.attempts.insert(name.clone(), 0);
            world.tries.insert(name.clone(), 0);
        }
        self.follow(&mut world);
        for (at, act) in history {
            world.now = *at;
            self.act(&mut world, act)?;
            self.follow(&mut world);
        }
        let nodes = world.states.iter().map(|(name, state)| (name.clone(), (*state, world.attempts[name])));
        Some(Told { workflow: world.workflow, nodes: nodes.collect() })
    }

    fn act(&self, world: &mut World, act: &Act) -> Option<()> {
        match act {
            Act::Clock => {
                for (name, _, _, _, expiry) in &self.nodes {
                    let is_over = world.due.get(name).is_some_and(|due| *due <= world.now);
                    if expiry.is_some() && world.states[name] == "waiting_approval" && is_over {
                        world.states.insert(name.clone(), "succeeded");
                    }
                }
            }
            Act::Ends(name, came) => {
                let node = self.nodes.iter().find(|node| node.0 == *name)?;
                if world.states[name] != "running" {
                    return None;
                }
                let state = match came {
                    Came::Well => "succeeded",
                    Came::Badly if world.tries[name] <= node.2 => {
                        world.due.insert(name.clone(), world.now + node.3);
                        "retrying"
                    }
                    _ => {
                        world.failure_seen = true;
                        "failed"
                    }
                };
                world.states.insert(name.clone(), state);
            }
            Act::Decide(name, is_approved) => {
                if world.states[name] != "waiting_approval" {
                    return None;
                }
                world.failure_seen |= !is_approved;
                world.states.insert(name.clone(), if *is_approved { "succeeded" } else { "failed" });
            }
            Act::Pause if world.workflow == "running" => world.workflow = "paused",
            Act::Resume if world.workflow == "paused" => world.workflow = "running",
            Act::Cancel if !over(world.workflow) => {
                world.workflow = "cancelled";
                for state in world.states.values_mut().filter(|state| !over(state)) {
                    *state = "cancelled";
                }
            }
            Act::Retry(name) => {
                let mut downstream = vec![name.clone()];
                while let Some((_, to, ..)) =
                    self.edges.iter().find(|edge| downstream.contains(&edge.0) && !downstream.contains(&edge.1))
                {
                    downstream.push(to.clone());
                }
                if downstream.iter().any(|name| !over(world.states[name])) {
                    return None;
                }
                for name in downstream {
                    world.tries.insert(name.clone(), 0);
                    world.states.insert(name, "pending");
                }
                world.failure_seen = false;
                if over(world.workflow) {
                    world.workflow = "running";
                }
            }
            Act::Pause | Act::Resume | Act::Cancel => return None,
        }
        Some(())
    }

    /// Whatever follows by itself.
    fn follow(&self, world: &mut World) {
        loop {
            let before = world.states.clone();
            for (name, ..) in &self.nodes {
                if world.states[name] != "pending" {
                    continue;
                }
                let mut into = self.edges.iter().filter(|edge| edge.1 == *name);
                let is_dead = into.clone().any(|(from, _, success, failure)| match world.states[from] {
                    "succeeded" => !success,
                    "failed" => !failure,
                    state => over(state),
                });
                let is_held = self.is_fail_fast && world.failure_seen && !into.any(|edge| edge.3);
                if is_dead || is_held {
                    world.states.insert(name.clone(), "skipped");
                }
            }
            if world.states != before {
                continue;
            }
            let may = world.workflow == "running" || (world.workflow == "pending" && self.starts_at <= world.now);
            for (name, is_gate, _, _, expiry) in self.nodes.iter().filter(|_| may) {
                let mut into = self.edges.iter().filter(|edge| edge.1 == *name);
                let is_ready = into.all(|(from, _, success, failure)| match world.states[from] {
                    "succeeded" => *success,
                    "failed" => *failure,
                    _ => false,
                });
                let is_again = world.states[name] == "retrying" && world.due[name] <= world.now;
                if (world.states[name] == "pending" && is_ready) || is_again {
                    world.states.insert(name.clone(), if *is_gate { "waiting_approval" } else { "running" });
                    *world.attempts.get_mut(name).unwrap() += 1;
                    *world.tries.get_mut(name).unwrap() += 1;
                    if let Some(seconds) = expiry {
                        world.due.insert(name.clone(), world.now + seconds);
                    }
                    world.workflow = "running";
                }
            }
            if world.states == before {
                break;
            }
        }
        if ["pending", "running"].contains(&world.workflow) && world.states.values().all(|state| over(state)) {
            let is_failed = world.states.values().any(|state| *state == "failed");
            world.workflow = if is_failed { "failed" } else { "succeeded" };
        }
    }

    /// A graph of so many nodes, named `n0` and so on.
    pub(super) fn random(random: &mut fastrand::Rng, count: usize, of_gates: bool) -> Shape {
        let node = |place: usize, random: &mut fastrand::Rng| {
            let is_gate = of_gates || random.u8(..3) == 0;
            let expiry = (is_gate && random.u8(..5) == 0).then(|| random.i64(60..90));
            (format!("n{place}"), is_gate, random.u32(..3), random.i64(0..20), expiry)
        };
        let nodes = (0..count).map(|place| node(place, random)).collect();
        let density = random.f64() * 3.0 / count as f64;
        // The order of submission is not the order of the graph.
        let mut order: Vec<usize> = (0..count).collect();
        random.shuffle(&mut order);
        let mut edges = Vec::new();
        for to in 1..count {
            for from in 0..to {
                if random.f64() < density {
                    let (success, failure) =
                        [(true, false), (true, false), (false, true), (true, true)][random.usize(..4)];
                    edges.push((format!("n{}", order[from]), format!("n{}", order[to]), success, failure));
                }
            }
        }
        let starts_at = if random.u8(..8) == 0 { random.i64(1..30) } else { 0 };
        Shape { nodes, edges, is_fail_fast: random.bool(), starts_at }
    }
}
