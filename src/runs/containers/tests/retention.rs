//! What is kept, and for how long, by the clock: a run goes at once with all that belongs to it, however much that is.

use super::*;
use crate::containers::removal::EVENTS_AT_ONCE;

const DAY: i64 = 86_400;

fn runs_of(bench: &Bench) -> usize {
    bench.store.read().scan(&RUNS, Scan::all()).unwrap().len()
}

/// A run that has ended with a result and logs.
fn over(bench: &Bench, limits: &Ceilings) -> RunKey {
    let run_key = submitted(bench, tenant(1), limits, plain()).unwrap();
    dispatched(bench, 1000, limits);
    bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap();
    let words = LastWords { summary: "done".into(), output: None };
    let end = End::of(&outcome(EndReason::Exited, Some(0), None, false), false, words);
    bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, 1, &end)?)).unwrap();
    bench.run(move |tx, now| Ok(archive::keep(tx, now, run_key, Some(&Archive::Small(vec![1])))?)).unwrap();
    run_key
}

#[test]
fn what_is_kept_goes_all_at_once_when_its_days_are_over() {
    let bench = bench();
    let three = over(&bench, &ceilings(&[("retention_days", 3)]));
    bench.clock.advance(DAY);
    // What the quota is when a run is submitted counts, whatever it is later.
    let one = over(&bench, &ceilings(&[("retention_days", 1)]));
    let later = Submit { scheduled_start: Some(bench.now().plus_seconds(30 * DAY)), ..plain() };
    let waits = submitted(&bench, tenant(1), &ceilings(&[("retention_days", 1)]), later).unwrap();
    bench.clock.advance(DAY - 1);
    assert_eq!(bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap(), 0);
    assert!(bench.store.read().contains(&ARCHIVES, &one).unwrap());
    bench.clock.advance(1);
    assert_eq!(bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap(), 1);
    let gone = |run_key: RunKey| {
        let read = bench.store.read();
        let events = read.scan(&EVENTS, Scan::prefix(&run_key)).unwrap();
        let left = [
            read.contains(&RUNS, &run_key).unwrap(),
            read.contains(&DESCRIPTIONS, &run_key).unwrap(),
            read.contains(&RESULTS, &run_key).unwrap(),
            read.contains(&ARCHIVES, &run_key).unwrap(),
            !events.is_empty(),
        ];
        assert!(left.iter().all(|there| *there == left[0]), "all of it or nothing: {left:?}");
        !left[0]
    };
    assert!(gone(one) && !gone(three));
    bench.clock.advance(DAY - 1);
    assert_eq!(bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap(), 0);
    bench.clock.advance(1);
    bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert!(gone(three));
    bench.clock.advance(20 * DAY);
    bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert_eq!(run_of(&bench, waits).state, RunState::Scheduled, "what has not ended does not grow old");
}

#[test]
fn a_transaction_takes_so_much_and_no_more() {
    let bench = bench();
    let limits = ceilings(&[("retention_days", 1), ("max_concurrent_runs", 1000)]);
    for _ in 0..250 {
        over(&bench, &limits);
    }
    // One with a history longer than a transaction takes.
    let long = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    dispatched(&bench, 1000, &limits);
    bench.run(move |tx, now| Ok(life::pulling(tx, now, long)?)).unwrap();
    bench.run(move |tx, now| Ok(life::started(tx, now, long, 1, now, "d")?)).unwrap();
    let pauses = EVENTS_AT_ONCE * 2;
    for _ in 0..pauses / 50 {
        bench
            .run(move |tx, now| {
                for _ in 0..50 {
                    life::paused(tx, now, Actor::Api, long, 1)?;
                    life::resumed(tx, now, Actor::Api, long, 1, 1)?;
                }
                Ok(())
            })
            .unwrap();
    }
    let end = End::of(&outcome(EndReason::Exited, Some(0), None, false), false, LastWords::default());
    bench.run(move |tx, now| Ok(life::ended(tx, now, long, 1, &end)?)).unwrap();
    bench.clock.advance(DAY);
    let mut before = (runs_of(&bench), bench.store.read().scan(&EVENTS, Scan::all()).unwrap().len());
    assert_eq!(before, (251, 250 * 5 + pauses * 2 + 5));
    let mut slices = 0;
    while before != (0, 0) {
        let seen = bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
        let after = (runs_of(&bench), bench.store.read().scan(&EVENTS, Scan::all()).unwrap().len());
        assert!(before.0 - after.0 <= 100 && before.1 - after.1 <= 2_500, "{before:?} {after:?}");
        assert!(after == (0, 0) || seen == 100, "more is due, and it says that nothing is: {after:?}");
        (before, slices) = (after, slices + 1);
    }
    assert!(slices >= 3, "{slices}");
    while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() > 0 {}
    assert_eq!(all_due(&bench), []);
}

#[test]
fn a_long_history_that_is_deleted_follows_by_the_sweep() {
    let bench = bench();
    let limits = Ceilings::default();
    let run_key = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    for _ in 0..EVENTS_AT_ONCE {
        dispatched(&bench, 1, &limits);
        bench.run(move |tx, now| Ok(requeue(tx, now, run_key)?)).unwrap();
    }
    bench.run(move |tx, now| delete(tx, now, run_key)).unwrap();
    assert_eq!(all_due(&bench), [(bench.now(), Due::Events(run_key))]);
    while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() > 0 {}
    assert_eq!(bench.store.read().scan(&EVENTS, Scan::all()).unwrap(), []);
    assert_eq!(all_due(&bench), []);
}
