//! Crashes between any two transactions: after each of a random life the directory is copied, as it would be found after a
//! kill; a fresh start goes on from there, and does what is left of the life. In the end all must be as the model says, which
//! knows nothing of crashes: each event once and in its order, each attempt, output and delivery.
//!
//! `QUINTET_WORKFLOW_CRASHES=N` tries so many lives (`QUINTET_WORKFLOWS_SEED` the first of them).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use quintet_support::copy_of;
use tempfile::TempDir;

use super::judge::{Act, Came, Shape, Told};
use super::model::{compare, delivered, done, fate_of, heard, random_act, submitted, told, told_to_webhooks};
use super::*;

/// A part of a life: the clock goes on by so many seconds, if by any; something is done; the run that ends by that.
struct Step {
    seconds: i64,
    act: Act,
    run_key: Option<RunKey>,
}

/// The directory after a transaction.
struct Copy {
    directory: TempDir,
    at: Timestamp,
    /// Which step it was, and whether its act had begun.
    step: usize,
    has_acted: bool,
}

/// How many lives each change tries, and the first of them.
const LIVES: u64 = 8;
const FIRST: u64 = 12;

/// Where a life stands, for who copies it.
#[derive(Clone, Default)]
struct Place {
    step: Arc<AtomicUsize>,
    /// 1: the act of the step has begun.
    has_acted: Arc<AtomicUsize>,
}

impl Place {
    fn set(&self, step: usize, has_acted: bool) {
        self.step.store(step, Ordering::SeqCst);
        self.has_acted.store(usize::from(has_acted), Ordering::SeqCst);
    }
}

/// A life that was lived.
struct Life {
    shape: Shape,
    key: WorkflowKey,
    began: Timestamp,
    steps: Vec<Step>,
    /// How it must end.
    expected: Told,
    heard_of: u64,
    has_listeners: bool,
    copies: Vec<Copy>,
    seed: u64,
}

/// Labels that make each event long to tell, and how many endpoints are told of it: what a step brings about is too much for
/// one transaction.
const LOUD: usize = 6;

/// Lives one, has it copied after each transaction, and holds it against the model.
fn lived(bench: &Bench, seed: u64) -> Life {
    let mut random = fastrand::Rng::with_seed(seed);
    let is_loud = seed.is_multiple_of(3);
    let count = random.usize(2..=if is_loud { 6 } else { 9 });
    let shape = Shape::random(&mut random, count, false);
    if is_loud {
        sizes::listeners(bench, LOUD);
    }
    let (place, copies) = (Place::default(), Arc::new(Mutex::new(Vec::new())));
    let (began, heard_of) = (bench.now(), delivered(bench, 0).0);
    let tags = if is_loud { sizes::loud(Vec::new(), Vec::new()).tags } else { Vec::new() };
    place.set(0, true);
    bench.after_each(Some({
        let (place, copies, clock) = (place.clone(), Arc::clone(&copies), Arc::clone(&bench.clock));
        Box::new(move |directory| {
            let (step, has_acted) = (place.step.load(Ordering::SeqCst), place.has_acted.load(Ordering::SeqCst) == 1);
            let at = quintet_storage::TimeSource::now(&*clock);
            copies.lock().unwrap().push(Copy { directory: copy_of(directory), at, step, has_acted });
        })
    }));
    let key = submitted(bench, &shape, !is_loud, tags);
    do_due(bench);
    // Its submission is a step as well.
    let (mut steps, mut events) = (vec![Step { seconds: 0, act: Act::Clock, run_key: None }], 0);
    let mut history = Vec::new();
    for _ in 0..random.usize(6..20) {
        let seconds = if random.u8(..3) == 0 { random.i64(1..40) } else { 0 };
        place.set(steps.len(), false);
        go_on(bench, seconds, began, &mut history);
        let act = random_act(&mut random, &shape, &told(bench, key));
        let run_key = match &act {
            Act::Ends(name, _) => Some(run_of(bench, key, name)),
            _ => None,
        };
        history.push((micros_since(bench, began), act.clone()));
        place.set(steps.len(), true);
        let (expected, is_done) = (shape.judge(&history), done(bench, key, &act));
        assert_eq!(expected.is_some(), is_done, "seed {seed}: {act:?}\n{shape:?}\n{history:?}");
        do_due(bench);
        match expected {
            Some(expected) => events = compare(bench, key, events, &expected),
            None => drop(history.pop()),
        }
        steps.push(Step { seconds, act, run_key });
    }
    bench.after_each(None);
    let expected = shape.judge(&history).unwrap();
    let copies = std::mem::take(&mut *copies.lock().unwrap());
    Life { shape, key, began, steps, expected, heard_of, has_listeners: is_loud, copies, seed }
}

fn micros_since(bench: &Bench, began: Timestamp) -> i64 {
    bench.now().as_micros() - began.as_micros()
}

fn go_on(bench: &Bench, seconds: i64, began: Timestamp, history: &mut Vec<(i64, Act)>) {
    if seconds > 0 {
        bench.clock.advance(seconds);
        do_due(bench);
        history.push((micros_since(bench, began), Act::Clock));
    }
}

/// A fresh start on a copy: what was due is done, what was begun is brought to its end, and the rest of the life is lived.
fn goes_on(life: &Life, own: &Bench, copy: Copy) {
    let Copy { directory, at, step, has_acted } = copy;
    let bench = own.of_copy(directory, at);
    let key = life.key;
    do_due(&bench);
    for (place, Step { seconds, act, run_key }) in life.steps.iter().enumerate().skip(step) {
        if place > step {
            go_on(&bench, *seconds, life.began, &mut Vec::new());
        }
        match act {
            // What is one transaction was done if anything of it was.
            _ if place == step && has_acted && run_key.is_none() => {}
            Act::Ends(name, came) if place == step && has_acted => ends(&bench, run_key.unwrap(), name, *came),
            _ => drop(done(&bench, key, act)),
        }
        do_due(&bench);
    }
    let context = || format!("seed {}, after step {step}\n{:?}\n{:?}", life.seed, life.shape, acts(life));
    let found = heard(&bench, key, 0);
    assert_eq!(found, life.expected.events, "{}", context());
    let expected = Told { events: Vec::new(), given: Default::default(), ..life.expected.clone() };
    assert_eq!(told(&bench, key), expected, "{}", context());
    if !life.has_listeners {
        assert_eq!(delivered(&bench, life.heard_of).1, told_to_webhooks(&found), "{}", context());
    }
    for (node, attempt) in &life.expected.nodes {
        let live = live(&bench, key);
        let place = live.graph.place(node).unwrap();
        let runs = attempts(&bench.store.read(), live.node_key(place)).unwrap().len();
        let is_gate = life.shape.nodes[place].1;
        assert_eq!(runs, if is_gate { 0 } else { attempt.1 as usize }, "one run an attempt: {}", context());
    }
    sound(&bench);
}

fn acts(life: &Life) -> Vec<(i64, &Act)> {
    life.steps.iter().map(|step| (step.seconds, &step.act)).collect()
}

/// Brings the end of a run to its end that was begun before the crash: its container is there, or was never made.
fn ends(bench: &Bench, run_key: RunKey, name: &str, came: Came) {
    let found = run(bench, run_key);
    match found.state {
        state if state.is_terminal() => return,
        RunState::Queued | RunState::Pulling => {
            requeue_of(bench, run_key);
            start(bench, run_key, run_ended);
        }
        RunState::Scheduled => start(bench, run_key, run_ended),
        _ => {}
    }
    end(bench, run_key, &fate_of(name, found.attempt, came), run_ended);
}

#[test]
fn whatever_transaction_it_dies_after_a_fresh_start_comes_to_the_same() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let lives = number("QUINTET_WORKFLOW_CRASHES").unwrap_or(LIVES);
    let first = number("QUINTET_WORKFLOWS_SEED").unwrap_or(FIRST);
    let (next, crashes, parts) = (AtomicU64::new(first), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= first + lives {
                        return;
                    }
                    let own = bench();
                    let mut life = lived(&own, seed);
                    let copies = std::mem::take(&mut life.copies);
                    crashes.fetch_add(copies.len(), Ordering::SeqCst);
                    let of_acts = life.steps.iter().enumerate().filter(|(_, step)| step.run_key.is_none());
                    for (place, _) in of_acts {
                        let of_it = copies.iter().filter(|copy| copy.step == place && copy.has_acted).count();
                        parts.fetch_add(of_it.saturating_sub(1), Ordering::SeqCst);
                    }
                    copies.into_iter().for_each(|copy| goes_on(&life, &own, copy));
                }
            });
        }
    });
    let (crashes, parts) = (crashes.into_inner(), parts.into_inner());
    println!("{lives} lives, {crashes} crashes, {parts} of them between parts of one step");
    // What is usual has both: crashes between steps, and within one.
    assert!((first, lives) != (FIRST, LIVES) || (crashes > 80 && parts > 0), "{crashes}, {parts}");
}
