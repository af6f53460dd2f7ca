//! A naive model of workflows, written apart from the engine, judges random graphs and lives: it keeps the whole history and
//! works out everything anew from its beginning, by names, as the contract tells it.
//!
//! `QUINTET_WORKFLOWS=N` tries so many graphs (`QUINTET_WORKFLOWS_SEED` the same ones again).

use std::sync::atomic::{AtomicU64, Ordering};

use super::judge::{Act, Came, SECOND, Shape, Told, says};
use super::*;

fn random_shape(random: &mut fastrand::Rng, of_gates: bool) -> Shape {
    let count = if random.u8(..10) == 0 { random.usize(13..=50) } else { random.usize(1..=12) };
    Shape::random(random, count, of_gates)
}

pub(super) fn submitted(bench: &Bench, shape: &Shape, is_heard: bool, tags: Vec<String>) -> WorkflowKey {
    let node = |(name, is_gate, retries, backoff, expiry): &(String, bool, u32, i64, Option<i64>)| {
        if *is_gate {
            let after = expiry.map(|seconds| u32::try_from(seconds).unwrap());
            let expiry = after.map(|after_seconds| Expiry { after_seconds, verdict: Verdict::Approved });
            return NewNode { kind: NodeKind::Gate { expiry }, ..gate(name) };
        }
        let backoff_seconds = u32::try_from(*backoff).unwrap();
        let (kind, inputs_from) =
            (NodeKind::Container { retries: *retries, backoff_seconds }, shape.inputs[name].clone());
        NewNode { kind, inputs_from, ..container(name, 0) }
    };
    let condition = |success: bool, failure: bool| match (success, failure) {
        (true, false) => Condition::OnSuccess,
        (false, _) => Condition::OnFailure,
        (true, true) => Condition::Always,
    };
    let edges = shape.edges.iter().map(|(from, to, success, failure)| edge(from, to, condition(*success, *failure)));
    let policy = if shape.is_fail_fast { FailurePolicy::FailFast } else { FailurePolicy::Continue };
    let scheduled_start = (shape.starts_at > 0).then(|| bench.now().plus_seconds(shape.starts_at));
    let webhook = Webhook { url: "https://example.com/".into(), events: vec!["*".into()], has_secret: false };
    let webhook = is_heard.then_some((webhook, None));
    let nodes = shape.nodes.iter().map(node).collect();
    made(bench, NewWorkflow { tags, policy, scheduled_start, webhook, ..new(nodes, edges.collect()) })
}

/// How it stands; what happened, and what attempts were given, is told apart.
pub(super) fn told(bench: &Bench, key: WorkflowKey) -> Told {
    let (live, read) = (live(bench, key), bench.store.read());
    let mut told = Told { workflow: live.workflow.state.name(), ..Told::default() };
    for (place, node) in live.nodes.iter().enumerate() {
        let name = live.reference(place).to_owned();
        let kept = output(&read, live.node_key(place)).unwrap();
        assert_eq!(kept.is_some(), node.has_output, "{name}");
        told.outputs.extend(kept.map(|kept| (name.clone(), kept)));
        told.nodes.insert(name, (node.state.name(), node.attempt));
    }
    told
}

/// What happened behind an event, as the model tells it.
pub(super) fn heard(bench: &Bench, key: WorkflowKey, since: usize) -> Vec<String> {
    let read = bench.store.read();
    let events = page(&read, key, since as u64, 10_000, &refs(&read, key).unwrap()).unwrap();
    let mut numbers = since as u64;
    let told = events.into_iter().map(|(number, event)| {
        numbers += 1;
        assert_eq!(number, numbers, "none is left out");
        let text = |name: &str| event.get(name).and_then(Json::as_str);
        let detail = |name: &str| event.get("detail").unwrap().get(name);
        let state = text("to_state").unwrap();
        let Some(name) = text("node_ref") else { return state.to_owned() };
        let more = match state {
            "skipped" => {
                let from = detail("from_ref").and_then(Json::as_str).map_or(String::new(), |from| format!(" {from}"));
                format!("({}{from})", detail("reason").and_then(Json::as_str).unwrap())
            }
            _ => detail("attempt").map_or(String::new(), |attempt| format!("#{}", to_compact(attempt))),
        };
        format!("{name}:{state}{more}")
    });
    told.collect()
}

/// The events that a webhook is told of, in the words of the catalogue.
pub(super) fn told_to_webhooks(events: &[String]) -> Vec<String> {
    let mut is_paused = false;
    let name = |event: &String| match event.split_once(':') {
        Some((_, state)) => {
            let state = state.split(['#', '(']).next().unwrap();
            (state != "pending").then(|| format!("node.{state}"))
        }
        None => {
            let word = if is_paused && event == "running" { "resumed" } else { event };
            is_paused = event == "paused";
            (event != "pending").then(|| format!("workflow.{word}"))
        }
    };
    events.iter().filter_map(name).collect()
}

/// The last delivery of the tenant, and the events of all behind one: there is one for each.
pub(super) fn delivered(bench: &Bench, since: u64) -> (u64, Vec<String>) {
    let all = Deliveries { endpoint_id: None, resource: None, state: None, since, before: None, limit: 100_000 };
    let page = deliveries(&bench.store.read(), outbox(tenant(1)), all, |_| DeliveryState::Pending).unwrap().items;
    (page.last().map_or(since, |delivery| delivery.id), page.into_iter().map(|delivery| delivery.event).collect())
}

/// What becomes of the container of an attempt, so that it ends this way: each way there is, in turn.
pub(super) fn fate_of(name: &str, attempt: u32, came: Came) -> Fate {
    let turn = name.bytes().map(usize::from).sum::<usize>() + attempt as usize;
    let said = says(name, attempt, came);
    match came {
        Came::Well => Fate::Returned(0, said),
        Came::Badly => Fate::Returned(1, said),
        Came::Broken => vec![Fate::TimedOut, Fate::OutOfMemory, Fate::Lost].swap_remove(turn % 3),
        Came::ToAWish => vec![Fate::Stopped(0), Fate::Killed].swap_remove(turn % 2),
    }
}

/// Does it; whether that was allowed.
pub(super) fn done(bench: &Bench, key: WorkflowKey, act: &Act) -> bool {
    match act {
        Act::Clock => true,
        Act::Ends(name, came) => {
            let run_key = run_of(bench, key, name);
            if run(bench, run_key).state == RunState::Scheduled {
                start(bench, run_key, run_ended);
            }
            end(bench, run_key, &fate_of(name, run(bench, run_key).attempt, *came), run_ended);
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
pub(super) fn random_act(random: &mut fastrand::Rng, shape: &Shape, told: &Told) -> Act {
    let any = |random: &mut fastrand::Rng| random.choice(&shape.nodes).unwrap().0.clone();
    let of = |random: &mut fastrand::Rng, state: &str| {
        let names: Vec<&String> = told.nodes.iter().filter(|(_, told)| told.0 == state).map(|(name, _)| name).collect();
        random.choice(names).cloned()
    };
    match random.u8(..20) {
        0..=7 => match of(random, "running") {
            Some(name) => {
                let ways = [Came::Well, Came::Well, Came::Well, Came::Badly, Came::Broken, Came::ToAWish];
                Act::Ends(name, ways[random.usize(..ways.len())])
            }
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

/// Whether what happened meanwhile is what the model says, each once and in order, and attempts were given what it says; how
/// many events there are then.
pub(super) fn compare(bench: &Bench, key: WorkflowKey, since: usize, expected: &Told) -> usize {
    let happened = heard(bench, key, since);
    assert_eq!(happened, expected.events.get(since..).unwrap_or_default());
    for event in &happened {
        let Some((name, _)) = event.split_once(":running") else { continue };
        let given =
            expected.given[name].iter().map(|(from, said)| (format!("SVC_INPUT_{}", from.to_uppercase()), said));
        let given: Vec<(String, String)> = given.map(|(variable, said)| (variable, said.clone())).collect();
        assert_eq!(env_of(bench, run_of(bench, key, name)), given, "{event}");
    }
    since + happened.len()
}

fn a_life(bench: &Bench, random: &mut fastrand::Rng, of_gates: bool, seed: u64) {
    let shape = random_shape(random, of_gates);
    let is_heard = seed.is_multiple_of(10);
    let heard_of = if is_heard { delivered(bench, 0).0 } else { 0 };
    let (began, key) = (bench.now(), submitted(bench, &shape, is_heard, vec!["nightly".into()]));
    let mut history: Vec<(i64, Act)> = Vec::new();
    let mut events = compare(bench, key, 0, &shape.judge(&[]).unwrap());
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
            // Two are hardly ever due in one and the same microsecond.
            bench.clock.advance_micros(random.i64(SECOND..15 * SECOND));
            do_due(bench);
            history.push((bench.now().as_micros() - began.as_micros(), Act::Clock));
        }
        let act = random_act(random, &shape, &told(bench, key));
        history.push((bench.now().as_micros() - began.as_micros(), act.clone()));
        let (expected, is_done) = (shape.judge(&history), done(bench, key, &act));
        assert_eq!(expected.is_some(), is_done, "seed {seed}: {act:?}\n{shape:?}\n{history:?}\n{before:?}");
        if expected.is_none() {
            history.pop();
        }
        let expected = shape.judge(&history).unwrap();
        events = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare(bench, key, events, &expected)))
            .unwrap_or_else(|_| panic!("seed {seed}\n{shape:?}\n{history:?}"));
        let expected = Told { events: Vec::new(), given: Default::default(), ..expected };
        assert_eq!(told(bench, key), expected, "seed {seed}\n{shape:?}\n{history:?}");
    }
    if is_heard {
        let told = told_to_webhooks(&heard(bench, key, 0));
        assert_eq!(
            delivered(bench, heard_of).1,
            told,
            "seed {seed}: one delivery for each event\n{shape:?}\n{history:?}"
        );
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
        if seed.is_multiple_of(10) {
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
