//! What is kept, and for how long, by the clock: a run goes at once with all that belongs to it, however much that is.

use super::*;
use crate::changes::EVENTS_AT_ONCE;
use crate::tables::DUE_EVENTS;

const DAY: i64 = 86_400;

fn runs_of(bench: &Bench) -> usize {
    bench.store.read().scan(&RUNS, Scan::all()).unwrap().len()
}

/// A run that has ended with a result and logs.
fn over(bench: &Bench, limits: &Ceilings) -> Place {
    let place = submitted(bench, tenant(1), limits, plain()).unwrap();
    dispatched(bench, 1000, limits);
    bench.run(move |tx, now| Ok(life::pulling(tx, now, place)?)).unwrap();
    let words = LastWords { summary: "done".into(), output: None };
    let end = End::of(&outcome(EndReason::Exited, Some(0), None, false), false, words);
    bench.run(move |tx, now| Ok(life::ended(tx, now, place, 1, &end)?)).unwrap();
    bench.run(move |tx, now| Ok(life::archived(tx, now, place, Some(&Archive::Small(vec![1])))?)).unwrap();
    place
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
    let gone = |place: Place| {
        let read = bench.store.read();
        let events = read.scan(&EVENTS, Scan::prefix(&place)).unwrap();
        let left = [
            read.contains(&RUNS, &place).unwrap(),
            read.contains(&DESCRIPTIONS, &place).unwrap(),
            read.contains(&RESULTS, &place).unwrap(),
            read.contains(&ARCHIVES, &place).unwrap(),
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
    assert_eq!(row(&bench, waits).state, RunState::Scheduled, "what has not ended does not grow old");
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
                    life::paused(tx, now, long, 1)?;
                    life::resumed(tx, now, long, 1, 1)?;
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
    assert_eq!(bench.store.read().scan(&DUE, Scan::all()).unwrap(), []);
}

#[test]
fn a_long_history_that_is_deleted_follows_by_the_sweep() {
    let bench = bench();
    let limits = Ceilings::default();
    let place = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    for _ in 0..EVENTS_AT_ONCE {
        dispatched(&bench, 1, &limits);
        bench.run(move |tx, now| Ok(requeue(tx, now, place)?)).unwrap();
    }
    bench.run(move |tx, now| life::delete(tx, now, place)).unwrap();
    let due = bench.store.read().scan(&DUE, Scan::all()).unwrap();
    assert_eq!(due.iter().map(|((_, kind, run_id), _)| (*kind, *run_id)).collect::<Vec<_>>(), [(DUE_EVENTS, place.1)]);
    while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() > 0 {}
    assert_eq!(bench.store.read().scan(&EVENTS, Scan::all()).unwrap(), []);
    assert_eq!(bench.store.read().scan(&DUE, Scan::all()).unwrap(), []);
}
