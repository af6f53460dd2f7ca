//! Where a run stands in its queue: its run_key, what holds it, and when its slot is likely to come.

use super::*;
use crate::containers::queue::{BlockedBy, Scheduling, scheduling};

const SECOND: i64 = 1_000_000;

fn stands(bench: &Bench, run_key: RunKey, limits: &Ceilings, workers: u64) -> Scheduling {
    let read = bench.store.read();
    scheduling(&read, bench.now(), run_key, &run_of(bench, run_key), machine(limits, workers)).unwrap()
}

/// Seconds from now until the estimate, with its run_key and what holds it.
fn told(
    bench: &Bench,
    run_key: RunKey,
    limits: &Ceilings,
    workers: u64,
) -> (Option<usize>, Option<BlockedBy>, Option<i64>) {
    let told_of = stands(bench, run_key, limits, workers);
    let wait = told_of.estimated_start.map(|at| at.micros_since(bench.now()) / SECOND);
    (told_of.position, told_of.blocked_by, wait)
}

/// Lets the runs that hold a slot end.
fn all_end(bench: &Bench) {
    for (run_id, busy) in bench.store.read().scan(&BUSY, Scan::all()).unwrap() {
        let run_key = (busy.tenant_id, run_id);
        let started = bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap().unwrap();
        let end = End::of(&outcome(EndReason::Exited, Some(0), None, false), false, LastWords::default());
        bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, started.starts, &end)?)).unwrap();
    }
}

#[test]
fn a_run_is_told_when_a_slot_is_likely_to_come() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 2), ("max_queue_seconds", 1_000_000)]);
    let asked = || Submit { timeout_seconds: Some(60), ..plain() };
    let mine: Vec<RunKey> = (0..6).map(|_| submitted(&bench, tenant(1), &limits, asked()).unwrap()).collect();
    assert_eq!(told(&bench, mine[0], &limits, 9), (Some(1), None, Some(0)), "at the next look");
    dispatched(&bench, 9, &limits);
    let queued_at = stands(&bench, mine[0], &limits, 9);
    assert_eq!((queued_at.position, queued_at.estimated_start), (None, Some(bench.now())), "it has its slot");
    // Before any has ended, the most that a run may take: two slots, sixty seconds.
    assert_eq!(told(&bench, mine[2], &limits, 9), (Some(1), Some(BlockedBy::Concurrency), Some(30)));
    assert_eq!(told(&bench, mine[5], &limits, 9), (Some(4), Some(BlockedBy::Concurrency), Some(120)));
    // Those that ended held theirs for ten seconds.
    bench.clock.advance(10);
    all_end(&bench);
    dispatched(&bench, 9, &limits);
    assert_eq!(told(&bench, mine[5], &limits, 9), (Some(2), Some(BlockedBy::Concurrency), Some(10)));
    // One that took longer counts an eighth.
    bench.clock.advance(90);
    let (first, second) = (mine[2], mine[3]);
    bench.run(move |tx, now| Ok(requeue(tx, now, second)?)).unwrap();
    let started = bench.run(move |tx, now| Ok(life::pulling(tx, now, first)?)).unwrap().unwrap();
    let end = End::of(&outcome(EndReason::Exited, Some(0), None, false), false, LastWords::default());
    bench.run(move |tx, now| Ok(life::ended(tx, now, first, started.starts, &end)?)).unwrap();
    dispatched(&bench, 9, &limits);
    assert_eq!(told(&bench, mine[5], &limits, 9), (Some(1), Some(BlockedBy::Concurrency), Some(10)));
    let lone = submitted(&bench, tenant(1), &limits, asked()).unwrap();
    assert_eq!(told(&bench, lone, &limits, 9), (Some(2), Some(BlockedBy::Concurrency), Some(20)));
    // With fewer slots in the machine than in the quota, those are what counts, and all that comes before, whose ever.
    let other: Vec<RunKey> = (0..3).map(|_| submitted(&bench, tenant(2), &limits, asked()).unwrap()).collect();
    assert_eq!(told(&bench, other[2], &limits, 2), (Some(3), Some(BlockedBy::Workers), Some(60 * 5 / 2)));
    let engine_down = Machine { is_engine_up: false, ..machine(&limits, 9) };
    let told_of = {
        let read = bench.store.read();
        scheduling(&read, bench.now(), lone, &run_of(&bench, lone), engine_down).unwrap()
    };
    assert_eq!(told_of.blocked_by, Some(BlockedBy::Concurrency), "its own quota holds it first");
    let idle = submitted(&bench, tenant(3), &limits, asked()).unwrap();
    let read = bench.store.read();
    // A moment before it was submitted is as good: so much is complete for certain while somebody writes.
    for now in [bench.now(), bench.now().plus_micros(-1)] {
        let told_of = scheduling(&read, now, idle, &run_of(&bench, idle), engine_down).unwrap();
        assert_eq!((told_of.blocked_by, told_of.estimated_start), (Some(BlockedBy::Engine), None), "nobody knows");
    }
}

#[test]
fn reservations_and_quotas_of_nothing_are_told_apart() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 2), ("max_queue_seconds", 1_000_000)]);
    let at = bench.now().plus_seconds(600);
    let later = Submit { scheduled_start: Some(at), ..plain() };
    let deferred = submitted(&bench, tenant(1), &limits, later.clone()).unwrap();
    let first = submitted(&bench, tenant(1), &limits, Submit { timeout_seconds: Some(60), ..plain() }).unwrap();
    let second = submitted(&bench, tenant(1), &limits, Submit { timeout_seconds: Some(60), ..plain() }).unwrap();
    assert_eq!(dispatched(&bench, 9, &limits), [first]);
    assert_eq!(told(&bench, deferred, &limits, 9), (Some(2), Some(BlockedBy::StartTime), Some(600)));
    assert_eq!(told(&bench, second, &limits, 9), (Some(1), Some(BlockedBy::Reservations), Some(60)));
    submitted(&bench, tenant(1), &limits, later).unwrap();
    assert_eq!(told(&bench, second, &limits, 9), (Some(1), Some(BlockedBy::Reservations), None), "all are kept");
    // Once their time has come, the deferred ones have their slots, and the others theirs after them.
    bench.clock.advance(600);
    assert_eq!(dispatched(&bench, 9, &limits), [deferred]);
    let none = ceilings(&[("max_concurrent_runs", 0), ("max_queue_seconds", 1_000_000)]);
    assert_eq!(told(&bench, second, &none, 9), (Some(1), Some(BlockedBy::Concurrency), None), "never");
}

#[test]
fn an_estimate_outside_working_hours_is_the_next_opening() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 1), ("max_queue_seconds", 1_000_000)]);
    let text = Some(Some("shift s \"S\" { }".to_owned()));
    let asked = SetQuotas { working_hours_tjp: text, ..SetQuotas::default() };
    bench.run(move |tx, now| Ok(set_quotas(tx, now, tenant(1), asked)?)).unwrap();
    let long = || Submit { timeout_seconds: Some(3600), ..plain() };
    let mine: Vec<RunKey> = (0..8).map(|_| submitted(&bench, tenant(1), &limits, long()).unwrap()).collect();
    dispatched(&bench, 9, &limits);
    // Half past noon: four hours more are half past four, five are over; tomorrow at nine is twenty and a half.
    assert_eq!(told(&bench, mine[4], &limits, 9).2, Some(4 * 3600));
    assert_eq!(told(&bench, mine[5], &limits, 9).2, Some(20 * 3600 + 1800));
}
