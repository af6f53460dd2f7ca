//! A naive model of workflows, written apart from the engine, judges random graphs and lives: it keeps the whole history and
//! works out everything anew from its beginning, by names, as the contract tells it.
//!
//! `QUINTET_WORKFLOWS=N` tries so many graphs (`QUINTET_WORKFLOWS_SEED` the same ones again).

use std::sync::atomic::{AtomicU64, Ordering};

use super::judge::{Act, Came, Shape, Told};
use super::*;

fn random_shape(random: &mut fastrand::Rng, of_gates: bool) -> Shape {
    let count = if random.u8(..10) == 0 { random.usize(13..=50) } else { random.usize(1..=12) };
    Shape::random(random, count, of_gates)
}

fn submitted(bench: &Bench, shape: &Shape) -> WorkflowKey {
    let node = |(name, is_gate, retries, backoff, expiry): &(String, bool, u32, i64, Option<i64>)| {
        if *is_gate {
            let after = expiry.map(|seconds| u32::try_from(seconds).unwrap());
            let expiry = after.map(|after_seconds| Expiry { after_seconds, verdict: Verdict::Approved });
            return NewNode { kind: NodeKind::Gate { expiry }, ..gate(name) };
        }
        let backoff_seconds = u32::try_from(*backoff).unwrap();
        NewNode { kind: NodeKind::Container { retries: *retries, backoff_seconds }, ..container(name, 0) }
    };
    let condition = |success: bool, failure: bool| match (success, failure) {
        (true, false) => Condition::OnSuccess,
        (false, _) => Condition::OnFailure,
        (true, true) => Condition::Always,
    };
    let edges = shape.edges.iter().map(|(from, to, success, failure)| edge(from, to, condition(*success, *failure)));
    let policy = if shape.is_fail_fast { FailurePolicy::FailFast } else { FailurePolicy::Continue };
    let scheduled_start = (shape.starts_at > 0).then(|| bench.now().plus_seconds(shape.starts_at));
    made(bench, NewWorkflow { policy, scheduled_start, ..new(shape.nodes.iter().map(node).collect(), edges.collect()) })
}

fn told(bench: &Bench, key: WorkflowKey) -> Told {
    let live = live(bench, key);
    let nodes = live.nodes.iter().enumerate();
    let nodes = nodes.map(|(place, node)| (live.reference(place).to_owned(), (node.state.name(), node.attempt)));
    Told { workflow: live.workflow.state.name(), nodes: nodes.collect() }
}

/// Does it; whether that was allowed.
fn done(bench: &Bench, key: WorkflowKey, act: &Act) -> bool {
    match act {
        Act::Clock => true,
        Act::Ends(name, came) => {
            let run_key = run_of(bench, key, name);
            if run(bench, run_key).state == RunState::Scheduled {
                start(bench, run_key, run_ended);
            }
            let fate = match came {
                Came::Well => Fate::Returned(0, Some(format!("\"{name}\""))),
                Came::Badly => Fate::Returned(1, None),
                Came::ToAWish => Fate::Stopped(0),
            };
            end(bench, run_key, &fate, run_ended);
            true
        }
        Act::Decide(name, is_approved) => {
            let verdict = if *is_approved { Verdict::Approved } else { Verdict::Rejected };
            decided(bench, key, name, verdict).is_ok()
        }
        Act::Pause => bench.run(move |tx, now| pause(tx, now, key)).is_ok(),
        Act::Resume => bench.run(move |tx, now| resume(tx, now, key)).is_ok(),
        Act::Cancel => bench.run(move |tx, now| cancel(tx, now, key)).is_ok(),
        Act::Retry(name) => retried(bench, key, name).is_ok(),
    }
}

/// Something that may be tried next, and may be refused. Ends are of runs that have not ended.
fn random_act(random: &mut fastrand::Rng, shape: &Shape, told: &Told) -> Act {
    let any = |random: &mut fastrand::Rng| random.choice(&shape.nodes).unwrap().0.clone();
    let of = |random: &mut fastrand::Rng, state: &str| {
        let names: Vec<&String> = told.nodes.iter().filter(|(_, told)| told.0 == state).map(|(name, _)| name).collect();
        random.choice(names).cloned()
    };
    match random.u8(..20) {
        0..=7 => match of(random, "running") {
            Some(name) => Act::Ends(name, [Came::Well, Came::Well, Came::Badly, Came::ToAWish][random.usize(..4)]),
            None => Act::Clock,
        },
        8..=12 => {
            let open = of(random, "waiting_approval").unwrap_or_else(|| any(random));
            Act::Decide(open, random.u8(..4) > 0)
        }
        13 | 14 => Act::Clock,
        15 => Act::Pause,
        16 | 17 => Act::Resume,
        18 if random.u8(..6) == 0 => Act::Cancel,
        _ => Act::Retry(any(random)),
    }
}

fn a_life(bench: &Bench, random: &mut fastrand::Rng, of_gates: bool, seed: u64) {
    let shape = random_shape(random, of_gates);
    let (began, key) = (bench.now(), submitted(bench, &shape));
    let mut history: Vec<(i64, Act)> = Vec::new();
    for _ in 0..random.usize(5..60) {
        let before = told(bench, key);
        if let Some(run) = random_run(random, bench, key, &before) {
            // Starting a container, or deleting an attempt that has ended, changes nothing of the workflow.
            match run.1.state {
                RunState::Scheduled if random.bool() => start(bench, run.0, run_ended),
                state if state.is_terminal() => drop(bench.run(move |tx, now| removal::delete(tx, now, run.0))),
                _ => {}
            }
        }
        if random.u8(..3) == 0 {
            bench.clock.advance(random.i64(1..15));
            do_due(bench);
            history.push(((bench.now().as_micros() - began.as_micros()) / 1_000_000, Act::Clock));
        }
        let act = random_act(random, &shape, &told(bench, key));
        history.push(((bench.now().as_micros() - began.as_micros()) / 1_000_000, act.clone()));
        let (expected, is_done) = (shape.judge(&history), done(bench, key, &act));
        assert_eq!(expected.is_some(), is_done, "seed {seed}: {act:?}\n{shape:?}\n{history:?}\n{before:?}");
        if expected.is_none() {
            history.pop();
        }
        let expected = shape.judge(&history).unwrap();
        assert_eq!(told(bench, key), expected, "seed {seed}\n{shape:?}\n{history:?}");
    }
    for (place, node) in live(bench, key).nodes.iter().enumerate().filter(|(place, _)| !shape.nodes[*place].1) {
        let runs = attempts(&bench.store.read(), live(bench, key).node_key(place)).unwrap().len();
        assert_eq!(runs, node.attempt as usize, "seed {seed}: one run an attempt");
    }
    drop(bench.run(move |tx, now| cancel(tx, now, key)));
    for run_key in wishes::wished(&bench.store.read(), 1_000).unwrap() {
        heed_wish(bench, run_key, run_ended);
    }
    assert_eq!(wishes::wished(&bench.store.read(), 1).unwrap(), [], "seed {seed}: whatever was cancelled has died");
}

fn random_run(random: &mut fastrand::Rng, bench: &Bench, key: WorkflowKey, told: &Told) -> Option<(RunKey, Run)> {
    let (name, _) = random.choice(&told.nodes)?;
    let live = live(bench, key);
    let run_id = live.nodes[live.graph.place(name)?].current_run()?;
    let run_key = (key.0, RunId(run_id));
    find_run(&bench.store.read(), run_key).unwrap().map(|run| (run_key, run))
}

/// How many benches live at once, and how many graphs each sees.
const BENCHES: usize = 4;
const GRAPHS_OF_A_BENCH: u64 = 50;

fn lives(of_gates: bool, usual: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let graphs = number("QUINTET_WORKFLOWS").unwrap_or(usual);
    let first = number("QUINTET_WORKFLOWS_SEED").unwrap_or(if of_gates { 1 } else { 1_000_000 });
    // Each bench has a log of its own to wait for.
    let next = AtomicU64::new(first);
    std::thread::scope(|scope| {
        for _ in 0..BENCHES {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(GRAPHS_OF_A_BENCH, Ordering::Relaxed);
                    if from >= first + graphs {
                        return;
                    }
                    on_a_bench(from..(from + GRAPHS_OF_A_BENCH).min(first + graphs), of_gates);
                }
            });
        }
    });
}

fn on_a_bench(seeds: std::ops::Range<u64>, of_gates: bool) {
    let own = bench();
    let numbers = vec![
        ("max_concurrent_runs", 1_000),
        ("max_daily_runs", 1_000_000),
        ("max_concurrent_workflows", 1_000),
        ("max_queue_seconds", 604_800),
    ];
    let asked = SetQuotas { numbers, ..SetQuotas::default() };
    own.run(move |tx, _| Ok(quotas::set(tx, tenant(1), asked)?)).unwrap();
    for seed in seeds {
        a_life(&own, &mut fastrand::Rng::with_seed(seed), of_gates, seed);
        if seed % 10 == 0 {
            sound(&own);
        }
    }
}

#[test]
fn graphs_of_gates_live_as_the_model_says() {
    lives(true, 10_000);
}

#[test]
fn graphs_of_gates_and_containers_live_as_the_model_says() {
    lives(false, 300);
}
