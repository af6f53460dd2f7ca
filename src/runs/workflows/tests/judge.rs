//! The naive model itself: it knows graphs by the names of their nodes, keeps the whole history, and works out everything
//! anew from its beginning, as the contract tells it. It knows nothing of the engine: the tests with containers use it too.

use std::collections::BTreeMap;

/// What somebody did, or what happened outside.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// The clock went on.
    Clock,
    /// The run of a node ended: well, badly, without a last word, or by somebody's wish.
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
    /// Badly, and it said nothing: it ran too long, had no memory left, or nobody knows.
    Broken,
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
    /// Whose outputs a node is given.
    pub(super) inputs: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) workflow: &'static str,
    pub(super) nodes: BTreeMap<String, (&'static str, u32)>,
    pub(super) outputs: BTreeMap<String, String>,
    /// What happened, in order: the state of the workflow, or a node's name and state, `#` and the attempt, and why it was
    /// skipped.
    pub(super) events: Vec<String>,
    /// What the latest attempt at a node was given: whose output, and that.
    pub(super) given: BTreeMap<String, Vec<(String, String)>>,
}

/// What the container of a node says in its last line in such an attempt.
pub(super) fn says(name: &str, attempt: u32, came: Came) -> Option<String> {
    match came {
        Came::Well => Some(format!("\"{name} {attempt}\"")),
        Came::Badly => Some(format!("[{attempt}]")),
        Came::Broken | Came::ToAWish => None,
    }
}

/// In microseconds.
pub(super) const SECOND: i64 = 1_000_000;

#[derive(Clone, Debug, Default)]
struct World {
    now: i64,
    workflow: &'static str,
    states: BTreeMap<String, &'static str>,
    attempts: BTreeMap<String, u32>,
    tries: BTreeMap<String, u32>,
    due: BTreeMap<String, i64>,
    failure_seen: bool,
    outputs: BTreeMap<String, String>,
    events: Vec<String>,
    given: BTreeMap<String, Vec<(String, String)>>,
}

impl World {
    /// The workflow gets into a state, and that is told.
    fn enters(&mut self, state: &'static str) {
        self.workflow = state;
        self.events.push(state.to_owned());
    }

    /// A node gets into a state, and that is told.
    fn comes(&mut self, name: &str, state: &'static str) {
        self.states.insert(name.to_owned(), state);
        let attempt =
            if ["pending", "cancelled"].contains(&state) { String::new() } else { format!("#{}", self.attempts[name]) };
        self.events.push(format!("{name}:{state}{attempt}"));
    }
}

fn over(state: &str) -> bool {
    ["succeeded", "failed", "skipped", "cancelled"].contains(&state)
}

impl Shape {
    /// What is told after all of this history of times (in microseconds) and acts, from the beginning; none if the last act was not allowed.
    pub(super) fn judge(&self, history: &[(i64, Act)]) -> Option<Told> {
        let mut world = World::default();
        world.enters("pending");
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
        let nodes = nodes.collect();
        let World { workflow, outputs, events, given, .. } = world;
        Some(Told { workflow, nodes, outputs, events, given })
    }

    /// What the clock brings about by now, each in its turn: the earliest first; at one instant the start, then attempts, then
    /// gates, each in the order of submission.
    fn by_the_clock(&self, world: &mut World) {
        let mut due: Vec<(i64, u8, usize)> = vec![(self.starts_at * SECOND, 0, 0)];
        for (place, (name, _, _, _, expiry)) in self.nodes.iter().enumerate() {
            match world.states[name] {
                "retrying" => due.push((world.due[name], 1, place)),
                "waiting_approval" if expiry.is_some() => due.push((world.due[name], 2, place)),
                _ => {}
            }
        }
        due.sort_unstable();
        for (at, what, place) in due {
            let name = &self.nodes[place].0;
            // What has started does not start again.
            if at <= world.now && (what != 0 || world.workflow == "pending") {
                if what == 2 && world.states[name] == "waiting_approval" {
                    world.comes(name, "succeeded");
                }
                self.follow(world);
                // Each is a transaction of its own, and what it sets a time for is due before what the next one does.
                world.now += 1;
            }
        }
    }

    fn act(&self, world: &mut World, act: &Act) -> Option<()> {
        match act {
            Act::Clock => self.by_the_clock(world),
            Act::Ends(name, came) => {
                let node = self.nodes.iter().find(|node| node.0 == *name)?;
                if world.states[name] != "running" {
                    return None;
                }
                let state = match came {
                    Came::Well => "succeeded",
                    Came::Badly | Came::Broken if world.tries[name] <= node.2 => {
                        world.due.insert(name.clone(), world.now + node.3 * SECOND);
                        "retrying"
                    }
                    _ => {
                        world.failure_seen = true;
                        "failed"
                    }
                };
                // What an attempt said that is followed by another one is nobody's.
                if let Some(said) = says(name, world.attempts[name], *came).filter(|_| state != "retrying") {
                    world.outputs.insert(name.clone(), said);
                }
                world.comes(name, state);
            }
            Act::Decide(name, is_approved) => {
                if world.states[name] != "waiting_approval" {
                    return None;
                }
                world.failure_seen |= !is_approved;
                world.comes(name, if *is_approved { "succeeded" } else { "failed" });
            }
            Act::Pause if world.workflow == "running" => world.enters("paused"),
            Act::Resume if world.workflow == "paused" => world.enters("running"),
            Act::Cancel if !over(world.workflow) => {
                for (name, ..) in &self.nodes {
                    if !over(world.states[name]) {
                        world.comes(name, "cancelled");
                    }
                }
                world.enters("cancelled");
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
                if over(world.workflow) {
                    world.enters("running");
                }
                for (name, ..) in self.nodes.iter().filter(|node| downstream.contains(&node.0)) {
                    world.tries.insert(name.clone(), 0);
                    world.outputs.remove(name);
                    world.comes(name, "pending");
                }
                world.failure_seen = false;
            }
            Act::Pause | Act::Resume | Act::Cancel => return None,
        }
        Some(())
    }

    /// Whatever follows by itself.
    fn follow(&self, world: &mut World) {
        self.skip(world);
        let may = world.workflow == "running" || (world.workflow == "pending" && self.starts_at * SECOND <= world.now);
        for (name, is_gate, _, _, expiry) in self.nodes.iter().filter(|_| may) {
            let mut into = self.edges.iter().filter(|edge| edge.1 == *name);
            let is_ready = into.all(|(from, _, success, failure)| match world.states[from] {
                "succeeded" => *success,
                "failed" => *failure,
                _ => false,
            });
            let is_again = world.states[name] == "retrying" && world.due[name] <= world.now;
            if (world.states[name] == "pending" && is_ready) || is_again {
                if world.workflow == "pending" {
                    world.enters("running");
                }
                *world.attempts.get_mut(name).unwrap() += 1;
                *world.tries.get_mut(name).unwrap() += 1;
                if let Some(seconds) = expiry {
                    world.due.insert(name.clone(), world.now + seconds * SECOND);
                }
                let from = self.inputs.get(name).into_iter().flatten();
                let given = from.filter_map(|from| Some((from.clone(), world.outputs.get(from)?.clone())));
                world.given.insert(name.clone(), given.collect());
                world.comes(name, if *is_gate { "waiting_approval" } else { "running" });
            }
        }
        if ["pending", "running"].contains(&world.workflow) && world.states.values().all(|state| over(state)) {
            let is_failed = world.states.values().any(|state| *state == "failed");
            world.enters(if is_failed { "failed" } else { "succeeded" });
        }
    }

    /// Whatever can never be launched is skipped, and what can never be for that; then it is told, in the order of submission.
    fn skip(&self, world: &mut World) {
        let dead = |world: &World, name: &str| {
            let is_dead = |edge: &&(String, String, bool, bool)| match world.states[&edge.0] {
                "succeeded" => !edge.2,
                "failed" => !edge.3,
                state => over(state),
            };
            let dead = self.edges.iter().filter(|edge| edge.1 == name).find(is_dead);
            dead.map(|edge| edge.0.clone())
        };
        let before = world.states.clone();
        loop {
            let last = world.states.clone();
            for (name, ..) in self.nodes.iter().filter(|node| last[&node.0] == "pending") {
                let has_way = self.edges.iter().any(|edge| edge.1 == *name && edge.3);
                let is_held = self.is_fail_fast && world.failure_seen && !has_way;
                if is_held || dead(world, name).is_some() {
                    world.states.insert(name.clone(), "skipped");
                }
            }
            if world.states == last {
                break;
            }
        }
        for (name, ..) in self.nodes.iter().filter(|node| before[&node.0] != world.states[&node.0]) {
            let why = dead(world, name).map_or("(fail_fast)".to_owned(), |from| format!("(upstream {from})"));
            world.events.push(format!("{name}:skipped{why}"));
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
        let mut shape = Shape { nodes, edges, is_fail_fast: random.bool(), starts_at, inputs: BTreeMap::new() };
        for place in 0..count {
            let name = format!("n{place}");
            // Mostly of those before it; what has no edge may have nothing to give yet.
            let is_taken = |from: &String, random: &mut fastrand::Rng| {
                let is_before = shape.edges.iter().any(|edge| (&edge.0, &edge.1) == (from, &name));
                random.u8(..32) < if is_before { 16 } else { 1 }
            };
            let from = shape.nodes.iter().map(|node| &node.0);
            let from: Vec<String> = from.filter(|from| **from != name && is_taken(from, random)).cloned().collect();
            shape.inputs.insert(name, from);
        }
        shape
    }
}
