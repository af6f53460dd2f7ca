//! Metered keys: what is charged and given back, by example and against a model, whatever the order.

use super::*;
use crate::allowances::model::Meter;
use crate::allowances::{days, meters, tests as allowed};
use crate::operator::{KeyTerms, check_terms, give_terms, key_standing};

fn terms(metered_seconds: Option<u64>) -> KeyTerms {
    KeyTerms { tier: metered_seconds.map(|_| "free".to_owned()), metered_seconds, ..KeyTerms::default() }
}

fn issue(bench: &Bench, key_id: &'static str, terms: KeyTerms) {
    assert_eq!(check_terms(&terms), Ok(()));
    bench.run(move |tx, _| Ok(give_terms(tx, key_id, &terms)?)).unwrap();
}

fn by(key_id: &str, timeout_seconds: u64) -> Submit {
    Submit { key_id: Some(key_id.to_owned()), timeout_seconds: Some(timeout_seconds), ..plain() }
}

fn meter(bench: &Bench, key_id: &str) -> Meter {
    meters::meter(&bench.store.read(), key_id).unwrap()
}

fn left(bench: &Bench, key_id: &str) -> Option<u64> {
    key_standing(&bench.store.read(), key_id).unwrap().unwrap().remaining_seconds
}

/// A container that ran for so many microseconds, pauses included.
fn ran(micros: i64, paused_micros: u64) -> Outcome {
    Outcome {
        started_at_micros: Some(1),
        finished_at_micros: 1 + micros,
        paused_micros,
        ..outcome(EndReason::Exited, Some(0), None, false)
    }
}

fn start(bench: &Bench, run_key: RunKey) -> u32 {
    dispatched(bench, 1000, &Ceilings::default());
    bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap().unwrap().starts
}

fn end(bench: &Bench, run_key: RunKey, number: u32, end: &End) -> bool {
    let end = end.clone();
    bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, number, &end)?)).unwrap()
}

#[test]
fn a_run_is_charged_in_full_and_gets_back_what_it_has_not_used() {
    let bench = bench();
    let limits = ceilings(&[("max_timeout_seconds", 100), ("max_queue_seconds", 50)]);
    issue(&bench, "k", terms(Some(250)));
    let first = submitted(&bench, tenant(1), &limits, by("k", 100)).unwrap();
    // What is asked for is clamped before it is charged.
    let second = submitted(&bench, tenant(1), &limits, by("k", 999)).unwrap();
    assert_eq!(left(&bench, "k"), Some(50));
    let day = |bench: &Bench| days::submitted(&bench.store.read(), bench.now(), tenant(1)).unwrap();
    assert_eq!(day(&bench), 2);
    assert_eq!(submitted(&bench, tenant(1), &limits, by("k", 51)), Err(Refusal::MeteredQuota(50, 51)));
    assert_eq!((left(&bench, "k"), day(&bench)), (Some(50), 2), "what is refused costs nothing");
    let third = submitted(&bench, tenant(1), &limits, by("k", 50)).unwrap();
    assert_eq!(left(&bench, "k"), Some(0));
    // 10.000001 seconds are eleven; a pause of two of them is not running.
    let number = start(&bench, first);
    assert!(end(&bench, first, number, &End::of(&ran(10_000_001, 0), false, LastWords::default())));
    assert_eq!((left(&bench, "k"), meter(&bench, "k").used_seconds), (Some(89), 11));
    assert!(!end(&bench, first, number, &End::of(&ran(1, 0), false, LastWords::default())), "it has ended");
    assert_eq!(left(&bench, "k"), Some(89));
    let number = start(&bench, second);
    assert!(end(&bench, second, number, &End::of(&ran(3_000_000, 2_000_000), false, LastWords::default())));
    assert_eq!(left(&bench, "k"), Some(188));
    // It was deleted before it began; its third would have been too late.
    let late = submitted(&bench, tenant(1), &limits, by("k", 100)).unwrap();
    bench.run(move |tx, now| Ok(requeue(tx, now, third)?)).unwrap();
    bench.run(move |tx, now| delete(tx, now, third)).unwrap();
    assert_eq!(left(&bench, "k"), Some(138), "the fifty of the third are back, the hundred of the fourth are not");
    bench.clock.advance(50);
    bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert_eq!(run_of(&bench, late).reason, Some(Reason::QueueTimeout));
    assert_eq!((left(&bench, "k"), meter(&bench, "k")), (Some(238), Meter { open_seconds: 0, used_seconds: 12 }));
    // One of which nobody knows how it ended has used nothing; one cannot use more than it was charged.
    let lost = submitted(&bench, tenant(1), &limits, by("k", 100)).unwrap();
    let number = start(&bench, lost);
    assert!(end(&bench, lost, number, &End::failed(Reason::WorkerLost, "gone", bench.now())));
    assert_eq!(left(&bench, "k"), Some(238));
    let long = submitted(&bench, tenant(1), &limits, by("k", 5)).unwrap();
    let number = start(&bench, long);
    assert!(end(&bench, long, number, &End::of(&ran(7_000_000, 0), false, LastWords::default())));
    assert_eq!(left(&bench, "k"), Some(233));
    // Deleting what has ended gives nothing back a second time.
    for run_key in [first, second, late, lost, long] {
        bench.run(move |tx, now| delete(tx, now, run_key)).unwrap();
    }
    assert_eq!((left(&bench, "k"), meter(&bench, "k").open_seconds), (Some(233), 0));
    // Other keys of the tenant are not metered.
    submitted(&bench, tenant(1), &limits, plain()).unwrap();
    submitted(&bench, tenant(1), &limits, by("another", 100)).unwrap();
    assert_eq!(allowed::charges(&bench.store.read()), 0);
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_key_allows_its_images_and_the_shorter_retention_counts() {
    let bench = bench();
    let limits = ceilings(&[("retention_days", 20), ("max_daily_runs", 3)]);
    let images = Some(vec!["quay.io/team/tool".to_owned(), "busybox:1.36".to_owned()]);
    issue(&bench, "short", KeyTerms { allowed_images: images, retention_days: Some(2), ..KeyTerms::default() });
    issue(&bench, "long", KeyTerms { retention_days: Some(30), ..KeyTerms::default() });
    let of = |key: &str, image: &str| Submit { image: image.to_owned(), ..by(key, 1) };
    for image in ["busybox", "busybox:1.37", "quay.io/team/tools", "no image at all", "tool"] {
        let refused = submitted(&bench, tenant(1), &limits, of("short", image));
        assert_eq!(refused, Err(Refusal::ImageNotAllowed), "{image}");
    }
    let short = submitted(&bench, tenant(1), &limits, of("short", "quay.io/team/tool:3")).unwrap();
    submitted(&bench, tenant(1), &limits, of("short", "docker.io/library/busybox:1.36")).unwrap();
    let long = submitted(&bench, tenant(1), &limits, of("long", "busybox:1.37")).unwrap();
    assert_eq!((run_of(&bench, short).retention_days, run_of(&bench, long).retention_days), (2, 20));
    // What the key does not allow is told before what the day does not.
    assert_eq!(submitted(&bench, tenant(1), &limits, of("short", "x")), Err(Refusal::ImageNotAllowed));
    assert!(matches!(submitted(&bench, tenant(1), &limits, of("long", "x")), Err(Refusal::DailyQuota(_))));
}

/// What waits takes room for as long as it waits.
#[test]
fn so_many_runs_of_a_tenant_wait_and_no_more() {
    let bench = bench();
    let limits = ceilings(&[("max_daily_runs", 1_000_000)]);
    let now = bench.now();
    bench
        .run(move |tx, _| Ok(tx.put(&LOADS, &tenant(1), &Load { waiting: 99_998, deferred: 1, busy: 5 }.into())?))
        .unwrap();
    submitted(&bench, tenant(1), &limits, plain()).unwrap();
    let later = Submit { scheduled_start: Some(now.plus_seconds(3600)), ..plain() };
    assert!(matches!(submitted(&bench, tenant(1), &limits, later), Err(Refusal::LimitReached(_, 100_000))));
    submitted(&bench, tenant(2), &limits, plain()).unwrap();
}

#[test]
fn meters_that_are_not_the_sum_of_their_charges_are_found() {
    let bench = bench();
    issue(&bench, "k", terms(Some(100)));
    let run_key = submitted(&bench, tenant(1), &Ceilings::default(), by("k", 10)).unwrap();
    let findings = |bench: &Bench| crate::verify(&bench.store.read()).unwrap().join("\n");
    assert_eq!(findings(&bench), "");
    bench
        .run(|tx, _| {
            allowed::put_meter(tx, "k", Meter { open_seconds: 9, used_seconds: 0 });
            Ok(())
        })
        .unwrap();
    assert!(findings(&bench).contains("key k: its meter is not the sum"), "{}", findings(&bench));
    bench
        .run(|tx, _| {
            allowed::lose_meter(tx, "k");
            Ok(())
        })
        .unwrap();
    assert!(findings(&bench).contains("key k: its runs were charged, and it has no meter"), "{}", findings(&bench));
    bench
        .run(move |tx, _| {
            tx.delete(&RUNS, &run_key);
            Ok(())
        })
        .unwrap();
    assert!(findings(&bench).contains("it is charged and has ended, or is none"), "{}", findings(&bench));
}

/// What the model knows of a metered run that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    key: usize,
    charged: u64,
    state: RunState,
    starts: u32,
}

const KEYS: [(&str, u64); 3] = [("a", 500), ("b", 120), ("c", 5_000)];

/// Any order of submissions, starts, ends, deletions, expiries, transactions that are called off at their end, and
/// restarts: what was charged less what was given back is what the runs have used.
#[test]
fn charges_less_refunds_are_what_was_used_in_any_order() {
    let seed = std::env::var("RUNS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bench = bench();
    let limits = ceilings(&[("max_queue_seconds", 60), ("max_daily_runs", 1_000_000), ("max_concurrent_runs", 5)]);
    for (key_id, seconds) in KEYS {
        issue(&bench, key_id, terms(Some(seconds)));
    }
    let mut open: BTreeMap<RunKey, Open> = BTreeMap::new();
    let mut ended: Vec<RunKey> = Vec::new();
    let mut used = [0_u64; 3];
    let mut refused = 0;
    for step in 0..1_200 {
        let run_key = random.choice(open.keys().copied().collect::<Vec<_>>());
        match random.u32(..12) {
            0..=3 => {
                let (key, timeout) = (random.usize(..3), random.u64(1..60));
                let charged: u64 = open.values().filter(|run| run.key == key).map(|run| run.charged).sum();
                let has_room = timeout + charged + used[key] <= KEYS[key].1;
                let asked = by(KEYS[key].0, timeout);
                if random.u32(..4) == 0 {
                    // The appliance is killed before the transaction is durable.
                    let limits = limits.clone();
                    let killed = bench.run(move |tx, now| {
                        submit(tx, now, tenant(1), &limits, asked)?;
                        Err::<(), _>(Refusal::NotTerminal.into())
                    });
                    assert!(killed.is_err());
                    continue;
                }
                match submitted(&bench, tenant(1), &limits, asked) {
                    Ok(run_key) => {
                        assert!(has_room, "step {step}");
                        open.insert(run_key, Open { key, charged: timeout, state: RunState::Scheduled, starts: 0 });
                    }
                    Err(refusal) => {
                        assert!(!has_room && matches!(refusal, Refusal::MeteredQuota(..)), "step {step}: {refusal:?}");
                        refused += 1;
                    }
                }
            }
            4 => {
                for run_key in dispatched(&bench, 8, &limits) {
                    open.get_mut(&run_key).unwrap().state = RunState::Queued;
                }
            }
            5 => {
                bench.clock.advance(random.i64(0..25));
                while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() > 0 {}
            }
            6 => {
                bench = bench.restarted();
                for (run_key, run) in &mut open {
                    let run_key = *run_key;
                    if matches!(run.state, RunState::Queued) || (run.state == RunState::Pulling && random.bool()) {
                        bench.run(move |tx, now| Ok(requeue(tx, now, run_key)?)).unwrap();
                        run.state = RunState::Scheduled;
                    }
                }
            }
            7 | 8 => {
                let Some(run_key) = run_key.filter(|run_key| open[run_key].state == RunState::Queued) else { continue };
                let run = open.get_mut(&run_key).unwrap();
                bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap().unwrap();
                *run = Open { state: RunState::Pulling, starts: run.starts + 1, ..*run };
            }
            9 | 10 => {
                let Some(run_key) = run_key else { continue };
                let Open { key, charged, state, starts } = open[&run_key];
                let paused = random.u64(0..3_000_000);
                let lost = End::failed(Reason::WorkerLost, "gone", bench.now());
                let (end_of, seconds) = match random.u32(..4) {
                    0 => (lost, 0),
                    _ => {
                        let micros = random.i64(0..70_000_000);
                        let running = u64::try_from(micros).unwrap().saturating_sub(paused);
                        let end = End::of(&ran(micros, paused), false, LastWords::default());
                        (end, running.div_ceil(1_000_000).min(charged))
                    }
                };
                if random.bool() {
                    // Killed before it is durable: it is heard of again.
                    let end_of = end_of.clone();
                    let killed = bench.run(move |tx, now| {
                        life::ended(tx, now, run_key, starts, &end_of)?;
                        Err::<(), _>(Refusal::NotTerminal.into())
                    });
                    assert!(killed.is_err());
                }
                if end(&bench, run_key, starts, &end_of) {
                    assert_eq!(state, RunState::Pulling, "step {step}");
                    used[key] += seconds;
                    open.remove(&run_key);
                    ended.push(run_key);
                    assert!(!end(&bench, run_key, starts, &end_of), "once");
                }
            }
            _ => {
                let candidates = run_key.into_iter().chain(random.choice(&ended).copied()).collect::<Vec<_>>();
                for run_key in candidates {
                    let done = bench.run(move |tx, now| delete(tx, now, run_key)).is_ok();
                    assert!(!done || open.get(&run_key).is_none_or(|run| run.state == RunState::Scheduled));
                    if done {
                        open.remove(&run_key);
                        ended.retain(|other| *other != run_key);
                    }
                }
            }
        }
        // Those that have waited too long are over and have used nothing.
        open.retain(|run_key, _| {
            find(&bench.store.read(), *run_key).unwrap().is_some_and(|row| !row.state.is_terminal())
        });
        for (key, (key_id, seconds)) in KEYS.into_iter().enumerate() {
            let charged: u64 = open.values().filter(|run| run.key == key).map(|run| run.charged).sum();
            let told = meter(&bench, key_id);
            assert_eq!(told, Meter { open_seconds: charged, used_seconds: used[key] }, "step {step}");
            assert!(told.spent_seconds() <= seconds, "step {step}");
        }
        if step % 50 == 0 {
            assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
        }
    }
    assert!(refused > 5 && used.iter().all(|seconds| *seconds > 0), "too short to mean anything: {refused}, {used:?}");
}
