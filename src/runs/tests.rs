//! The verbs: a line a command and its expected answer; and a long life of random commands held against a model.

use std::collections::BTreeMap;

use quintet_runtime::{EndReason, Outcome, StreamTotals};
use quintet_storage::{Read as _, Scan, Timestamp};

use crate::changes::{Place, find, too_late_at};
use crate::dispatch::{choose, dispatch, requeue};
use crate::due::sweep;
use crate::life::{self, Archive, End};
use crate::model::{Ceilings, Reason, RunState, TenantId};
use crate::queries::{self, Filter};
use crate::quotas;
use crate::refusal::Refusal;
use crate::submission::{Submit, submit};
use crate::tables::{
    ARCHIVES, BUSY, CONTAINERS, DEFERRED, DESCRIPTIONS, DUE, EVENTS, LOADS, LastWords, RESULTS, RUNS, RunRow, Secrets,
    WAITING,
};
use crate::testing::{Bench, bench, plain, tenant};

mod costs;
mod estimates;
mod hours;
mod metering;
mod retention;

fn ceilings(limits: &[(&str, u64)]) -> Ceilings {
    Ceilings(limits.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
}

fn submitted(bench: &Bench, tenant_id: TenantId, limits: &Ceilings, asked: Submit) -> Result<Place, Refusal> {
    let limits = limits.clone();
    bench.run(move |tx, now| submit(tx, now, tenant_id, &limits, asked)).map(|(run_id, _)| (tenant_id, run_id))
}

fn row(bench: &Bench, place: Place) -> RunRow {
    find(&bench.store.read(), place).unwrap().unwrap()
}

fn dispatched(bench: &Bench, workers: u64, limits: &Ceilings) -> Vec<Place> {
    let limits = limits.clone();
    bench.run(move |tx, now| Ok(dispatch(tx, now, workers, &limits, 100)?)).unwrap()
}

fn outcome(reason: EndReason, exit_code: Option<i32>, signal: Option<i32>, oom_killed: bool) -> Outcome {
    Outcome {
        reason,
        exit_code,
        signal,
        oom_killed,
        started_at_micros: Some(1),
        finished_at_micros: 3,
        paused_micros: 1,
        peak_memory_bytes: 10,
        cpu_micros: 20,
        stdout: StreamTotals::default(),
        stderr: StreamTotals::default(),
    }
}

#[test]
fn every_outcome_has_the_state_and_the_reason_of_the_contract() {
    use EndReason::{Exited, GraceExpired, Killed, Lost, StartFailed, TimedOut};
    let table = [
        (outcome(Exited, Some(0), None, false), false, "exited", None, Some(0)),
        (outcome(Exited, Some(0), None, true), false, "exited", None, Some(0)),
        (outcome(Exited, Some(3), None, false), false, "failed", Some("nonzero_exit"), Some(3)),
        (outcome(Exited, Some(3), None, false), true, "exited", None, Some(3)),
        (outcome(Exited, None, Some(15), false), true, "exited", None, Some(143)),
        (outcome(Exited, None, Some(11), false), false, "failed", Some("nonzero_exit"), Some(139)),
        (outcome(Exited, None, Some(9), true), false, "failed", Some("oom_killed"), Some(137)),
        (outcome(Exited, Some(1), None, true), false, "failed", Some("oom_killed"), Some(1)),
        (outcome(Killed, None, Some(9), false), false, "killed", Some("killed"), Some(137)),
        (outcome(Killed, None, Some(9), false), true, "killed", Some("killed"), Some(137)),
        (outcome(TimedOut, None, Some(9), false), false, "timeout", Some("timeout"), Some(137)),
        (outcome(GraceExpired, None, Some(9), false), true, "killed", Some("stop_grace_expired"), Some(137)),
        (outcome(StartFailed("no".into()), None, None, false), false, "failed", Some("start_failed"), None),
        (outcome(Lost, None, None, false), false, "failed", Some("worker_lost"), None),
    ];
    for (outcome, is_stopping, state, reason, exit_code) in table {
        let end = End::of(&outcome, is_stopping, LastWords::default());
        let told = (end.state.name(), end.reason.map(Reason::name), end.exit_code);
        assert_eq!(told, (state, reason, exit_code), "{outcome:?}");
    }
}

#[test]
fn submissions_are_clamped_and_counted_by_the_day() {
    let bench = bench();
    let limits = ceilings(&[("max_daily_runs", 3), ("max_timeout_seconds", 100), ("max_cpu", 500)]);
    let first = submitted(&bench, tenant(1), &limits, Submit { timeout_seconds: Some(101), ..plain() }).unwrap();
    let given = row(&bench, first);
    assert_eq!((given.limits.timeout_seconds, given.limits.cpu_millicores, given.clamped), (100, 500, true));
    let second = submitted(&bench, tenant(1), &limits, Submit { timeout_seconds: Some(100), ..plain() }).unwrap();
    assert!(!row(&bench, second).clamped, "defaults above a ceiling are not asked for");
    submitted(&bench, tenant(1), &limits, plain()).unwrap();
    // 12:30: the day has eleven and a half hours left.
    assert_eq!(submitted(&bench, tenant(1), &limits, plain()), Err(Refusal::DailyQuota(41_400)));
    submitted(&bench, tenant(2), &limits, plain()).unwrap();
    bench.clock.advance(41_399);
    assert_eq!(submitted(&bench, tenant(1), &limits, plain()), Err(Refusal::DailyQuota(1)));
    bench.clock.advance(1);
    submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert!(second.1 > first.1, "newer runs have greater ids");
}

#[test]
fn environments_and_secrets_are_sealed_and_come_back() {
    let bench = bench();
    let secrets = Secrets { env: vec![("TOKEN".into(), "hunter2".into())], webhook_secret: Some("s".into()) };
    let asked = Submit { secrets: secrets.clone(), ..plain() };
    let place = submitted(&bench, tenant(1), &Ceilings::default(), asked).unwrap();
    let (description, opened) = life::description(&bench.store.read(), place).unwrap().unwrap();
    assert_eq!((opened, description.env_names), (secrets, vec!["TOKEN".to_owned()]));
    assert!(!format!("{:?}", row(&bench, place)).contains("hunter2"));
}

#[test]
fn slots_go_by_eligible_start_within_quotas_and_the_machine() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 2)]);
    let mine: Vec<Place> = (0..4).map(|_| submitted(&bench, tenant(1), &limits, plain()).unwrap()).collect();
    let other = submitted(&bench, tenant(2), &limits, plain()).unwrap();
    assert_eq!(dispatched(&bench, 0, &limits), []);
    assert_eq!(dispatched(&bench, 1, &limits), [mine[0]]);
    // The tenant's second, then the other tenant's: the first tenant has had its two.
    assert_eq!(dispatched(&bench, 9, &limits), [mine[1], other]);
    assert_eq!(dispatched(&bench, 9, &limits), []);
    let read = bench.store.read();
    assert_eq!(queries::queue_position(&read, mine[3], &row(&bench, mine[3])).unwrap(), Some(2));
    let blocked = |place: Place, workers, is_up| {
        let read = bench.store.read();
        queries::blocked_by(&read, bench.now(), place.0, &row(&bench, place), &limits, workers, is_up).unwrap()
    };
    assert_eq!(blocked(mine[3], 9, true), Some(queries::BlockedBy::Concurrency));
    assert_eq!(blocked(mine[0], 9, true), None);
    let third = submitted(&bench, tenant(3), &limits, plain()).unwrap();
    assert_eq!(blocked(third, 9, false), Some(queries::BlockedBy::Engine));
    assert_eq!(blocked(third, 3, true), Some(queries::BlockedBy::Workers));
    assert_eq!(blocked(third, 4, true), None);
    // A slot that is given back is the next one's, in the order of submission.
    let first = mine[0];
    bench.run(move |tx, now| Ok(requeue(tx, now, first)?)).unwrap();
    assert_eq!(dispatched(&bench, 9, &limits), [first, third]);
}

#[test]
fn a_deferred_run_has_its_slot_kept() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 2)]);
    let later = Submit { scheduled_start: Some(bench.now().plus_seconds(60)), ..plain() };
    let past = Submit { scheduled_start: Some(bench.now().plus_seconds(-60)), ..plain() };
    let deferred = submitted(&bench, tenant(1), &limits, later.clone()).unwrap();
    let now_run = submitted(&bench, tenant(1), &limits, past).unwrap();
    assert_eq!(row(&bench, now_run).eligible_start, bench.now(), "a past start is now");
    let second = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert_eq!(dispatched(&bench, 9, &limits), [now_run], "one slot of two is kept");
    let blocked =
        queries::blocked_by(&bench.store.read(), bench.now(), tenant(1), &row(&bench, second), &limits, 9, true);
    assert_eq!(blocked.unwrap(), Some(queries::BlockedBy::Reservations));
    bench.clock.advance(60);
    assert_eq!(dispatched(&bench, 9, &limits), [deferred]);
    // More reservations than slots count as many as there are slots, and do not lock each other out.
    let many: Vec<Place> = (0..4).map(|_| submitted(&bench, tenant(2), &limits, later.clone()).unwrap()).collect();
    assert!(many.iter().all(|place| row(&bench, *place).class != DEFERRED), "that start has passed");
    let later = Submit { scheduled_start: Some(bench.now().plus_seconds(60)), ..plain() };
    let many: Vec<Place> = (0..4).map(|_| submitted(&bench, tenant(3), &limits, later.clone()).unwrap()).collect();
    bench.clock.advance(60);
    let given = dispatched(&bench, 99, &limits);
    assert_eq!(given.iter().filter(|place| many.contains(place)).count(), 2);
}

#[test]
fn what_waits_too_long_fails_and_what_is_old_goes() {
    let bench = bench();
    let limits = ceilings(&[("max_queue_seconds", 100), ("retention_days", 2)]);
    let expires = |seconds| Submit { expires_at: Some(bench.now().plus_seconds(seconds)), ..plain() };
    let queue_timeout = submitted(&bench, tenant(1), &limits, expires(200)).unwrap();
    let expired = submitted(&bench, tenant(1), &limits, expires(50)).unwrap();
    let at_once = submitted(&bench, tenant(1), &limits, expires(-5)).unwrap();
    let swept = |bench: &Bench| bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert_eq!(swept(&bench), 1);
    let told = |place: Place| (row(&bench, place).state, row(&bench, place).reason);
    assert_eq!(told(at_once), (RunState::Failed, Some(Reason::Expired)));
    bench.clock.advance(50);
    assert_eq!(swept(&bench), 1);
    assert_eq!(told(expired), (RunState::Failed, Some(Reason::Expired)));
    bench.clock.advance(49);
    assert_eq!(swept(&bench), 0);
    bench.clock.advance(1);
    // The dispatcher may come first: it gives no slot either.
    assert_eq!(dispatched(&bench, 9, &limits), []);
    assert_eq!(told(queue_timeout), (RunState::Failed, Some(Reason::QueueTimeout)));
    bench.clock.advance(2 * 86_400);
    assert_eq!(swept(&bench), 3);
    let read = bench.store.read();
    assert!(read.scan(&RUNS, Scan::all()).unwrap().is_empty());
    assert!(read.scan(&EVENTS, Scan::all()).unwrap().is_empty());
    assert!(read.scan(&DUE, Scan::all()).unwrap().is_empty());
}

#[test]
fn what_is_told_of_an_earlier_container_or_after_the_end_changes_nothing() {
    let bench = bench();
    let limits = Ceilings::default();
    let place = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert!(bench.run(move |tx, now| Ok(life::pulling(tx, now, place)?)).unwrap().is_none(), "it has no slot");
    dispatched(&bench, 1, &limits);
    bench.run(move |tx, now| Ok(life::pulling(tx, now, place)?)).unwrap().unwrap();
    bench.run(move |tx, now| Ok(requeue(tx, now, place)?)).unwrap();
    dispatched(&bench, 1, &limits);
    let again = bench.run(move |tx, now| Ok(life::pulling(tx, now, place)?)).unwrap().unwrap();
    assert_eq!(again.starts, 2, "a new container has a new number");
    let end = |bench: &Bench, number, code| {
        let end = End::of(&outcome(EndReason::Exited, Some(code), None, false), false, LastWords::default());
        bench.run(move |tx, now| Ok(life::ended(tx, now, place, number, &end)?)).unwrap()
    };
    let start = |bench: &Bench, number| {
        bench.run(move |tx, now| Ok(life::started(tx, now, place, number, now, "sha256:0")?)).unwrap();
        row(bench, place).state
    };
    assert_eq!(start(&bench, 1), RunState::Pulling);
    assert!(!end(&bench, 1, 9));
    assert_eq!(start(&bench, 2), RunState::Running);
    assert_eq!(bench.run(move |tx, now| life::resumed(tx, now, place, 2, 0)), Err(Refusal::InvalidState("running")));
    bench.run(move |tx, now| life::paused(tx, now, place, 2)).unwrap();
    assert_eq!(bench.run(move |tx, now| life::stopping(tx, now, place)), Err(Refusal::InvalidState("paused")));
    assert_eq!(bench.run(move |tx, now| life::delete(tx, now, place)), Err(Refusal::RunActive));
    bench.run(move |tx, now| life::resumed(tx, now, place, 2, 5)).unwrap();
    assert!(bench.run(move |tx, now| life::stopping(tx, now, place)).unwrap());
    assert!(!bench.run(move |tx, now| life::stopping(tx, now, place)).unwrap(), "the second changes nothing");
    assert!(end(&bench, 2, 0));
    assert!(!end(&bench, 2, 1), "it stays as it ended");
    assert_eq!(start(&bench, 2), RunState::Exited);
    bench.run(move |tx, now| Ok(requeue(tx, now, place)?)).unwrap();
    assert_eq!(row(&bench, place).exit_code, Some(0));
    let events: Vec<String> =
        bench.store.read().scan(&EVENTS, Scan::all()).unwrap().into_iter().map(|(_, event)| event.event).collect();
    assert_eq!(
        events,
        [
            "run.scheduled",
            "run.queued",
            "run.pulling",
            "run.scheduled",
            "run.queued",
            "run.pulling",
            "run.running",
            "run.paused",
            "run.resumed",
            "run.stopping",
            "run.exited",
        ]
    );
}

#[test]
fn an_end_that_is_heard_of_before_the_start_has_both_events() {
    let bench = bench();
    let place = submitted(&bench, tenant(1), &Ceilings::default(), plain()).unwrap();
    dispatched(&bench, 1, &Ceilings::default());
    bench.run(move |tx, now| Ok(life::pulling(tx, now, place)?)).unwrap();
    let words = LastWords { summary: "done".into(), output: Some("1".into()) };
    let end = End::of(&outcome(EndReason::Exited, Some(0), None, false), false, words.clone());
    bench.run(move |tx, now| Ok(life::ended(tx, now, place, 1, &end)?)).unwrap();
    let ended = row(&bench, place);
    assert_eq!((ended.state, ended.events), (RunState::Exited, 5));
    assert!(ended.started_at.unwrap() >= ended.pulling_at.unwrap() && ended.finished_at >= ended.started_at);
    let (result, told) = life::result(&bench.store.read(), place).unwrap();
    assert_eq!((result.cpu_micros, told), (20, words));
    bench.run(move |tx, now| Ok(life::archived(tx, now, place, Some(&Archive::Small(vec![1, 2])))?)).unwrap();
    assert!(bench.store.read().contains(&ARCHIVES, &place).unwrap());
    bench.run(move |tx, now| life::delete(tx, now, place)).unwrap();
    let read = bench.store.read();
    assert!(!read.contains(&ARCHIVES, &place).unwrap() && !read.contains(&RESULTS, &place).unwrap());
    assert!(!read.contains(&DESCRIPTIONS, &place).unwrap() && !read.contains(&CONTAINERS, &place.1).unwrap());
    assert_eq!(bench.run(move |tx, now| life::delete(tx, now, place)), Err(Refusal::NotFound));
}

#[test]
fn lists_are_filtered_and_paged_and_one_tenants_own() {
    let bench = bench();
    let limits = Ceilings::default();
    let mut mine = Vec::new();
    for number in 0..7 {
        let tags = if number % 2 == 0 { vec!["even".to_owned()] } else { Vec::new() };
        let name = Some(format!("run {number}"));
        mine.push(submitted(&bench, tenant(1), &limits, Submit { tags, name, ..plain() }).unwrap());
        submitted(&bench, tenant(2), &limits, plain()).unwrap();
        bench.clock.advance(1);
    }
    let page = |filter: &Filter, after, limit| {
        let (found, next) = queries::list(&bench.store.read(), tenant(1), filter, after, limit).unwrap();
        (found.into_iter().map(|(run_id, _)| run_id).collect::<Vec<_>>(), next)
    };
    let ids: Vec<_> = mine.iter().rev().map(|place| place.1).collect();
    let all = Filter::default();
    let (first, next) = page(&all, None, 3);
    assert_eq!((first.as_slice(), next), (&ids[..3], Some(ids[2])));
    let (rest, next) = page(&all, next, 200);
    assert_eq!((rest.as_slice(), next), (&ids[3..], None));
    let even = Filter { tag: Some("even".into()), ..Filter::default() };
    assert_eq!(page(&even, None, 200).0, [ids[0], ids[2], ids[4], ids[6]]);
    let (some, next) = page(&even, None, 2);
    assert_eq!((some, page(&even, next, 2).0), (vec![ids[0], ids[2]], vec![ids[4], ids[6]]));
    let named = Filter { name: Some("run 3".into()), ..Filter::default() };
    assert_eq!(page(&named, None, 1), (vec![ids[3]], None));
    let middle = row(&bench, mine[2]).submitted_at;
    let after = Filter { submitted_after: Some(middle), ..Filter::default() };
    assert_eq!(page(&after, None, 200).0, ids[..5]);
    let before = Filter { submitted_before: Some(middle), ..Filter::default() };
    assert_eq!(page(&before, None, 200).0, ids[5..]);
    let exited = Filter { state: Some(RunState::Exited), ..Filter::default() };
    assert_eq!(page(&exited, None, 200), (Vec::new(), None));
}

/// Whether a run that waited was late at that time; one that is gone has ended before.
fn row_too_late(bench: &Bench, place: Place, now: Timestamp) -> bool {
    find(&bench.store.read(), place).unwrap().is_none_or(|row| too_late_at(&row) <= now)
}

/// What the model remembers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    state: RunState,
    starts: u32,
}

/// Holds every index and count against the rows.
fn audit(bench: &Bench, known: &BTreeMap<Place, Known>, limits: &Ceilings) {
    let read = bench.store.read();
    assert_eq!(crate::verify(&read).unwrap(), Vec::<String>::new());
    let rows: BTreeMap<Place, RunRow> = read.scan(&RUNS, Scan::all()).unwrap().into_iter().collect();
    let states: BTreeMap<Place, Known> =
        rows.iter().map(|(place, row)| (*place, Known { state: row.state, starts: row.starts })).collect();
    assert_eq!(&states, known);
    let waiting = read.scan(&WAITING, Scan::all()).unwrap();
    let busy = read.scan(&BUSY, Scan::all()).unwrap();
    let of = |state: fn(RunState) -> bool| rows.values().filter(|row| state(row.state)).count();
    assert_eq!(waiting.len(), of(|state| state == RunState::Scheduled));
    assert_eq!(busy.len(), of(RunState::holds_slot));
    for (tenant_id, load) in read.scan(&LOADS, Scan::all()).unwrap() {
        let mine = || rows.iter().filter(|(place, _)| place.0 == tenant_id).map(|(_, row)| row);
        let held = mine().filter(|row| row.state.holds_slot()).count() as u64;
        let waits = mine().filter(|row| row.state == RunState::Scheduled).count() as u64;
        assert_eq!((load.busy, load.waiting + load.deferred), (held, waits));
        assert!(held <= 3, "more than the quota");
    }
    assert!(busy.len() <= 5, "more than the machine");
    let events = read.scan(&EVENTS, Scan::all()).unwrap().len();
    assert_eq!(events, rows.values().map(|row| row.events as usize).sum::<usize>());
    let due = read.scan(&DUE, Scan::all()).unwrap();
    assert!(due.iter().all(|((.., run_id), row)| rows.contains_key(&(row.tenant_id, *run_id))));
    let chosen = choose(&read, bench.now(), 5, limits, 100).unwrap();
    assert!(chosen.iter().all(|place| rows[place].state == RunState::Scheduled));
}

/// A life of commands, restarts included: after each, rows, indexes and counts agree with a model that knows nothing
/// but the table of states.
#[test]
fn a_long_life_agrees_with_the_model() {
    let seed = std::env::var("RUNS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let mut random = fastrand::Rng::with_seed(seed);
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 3), ("max_queue_seconds", 40), ("retention_days", 1)]);
    let mut known: BTreeMap<Place, Known> = BTreeMap::new();
    for step in 0..1_500 {
        let place = random.choice(known.keys().copied().collect::<Vec<_>>());
        match random.u32(..14) {
            0..=2 => {
                let start = bench.now().plus_seconds(random.i64(-5..30));
                let expiry = bench.now().plus_seconds(random.i64(1..60));
                let asked = Submit {
                    scheduled_start: random.bool().then_some(start),
                    expires_at: random.bool().then_some(expiry),
                    ..plain()
                };
                let place = submitted(&bench, tenant(random.u128(1..4)), &limits, asked).unwrap();
                known.insert(place, Known { state: RunState::Scheduled, starts: 0 });
            }
            3..=4 => {
                let given = dispatched(&bench, 5, &limits);
                for place in &given {
                    assert_eq!(known[place].state, RunState::Scheduled, "step {step}");
                    known.get_mut(place).unwrap().state = RunState::Queued;
                }
                // Those that came too late have failed instead.
                for (place, known) in &mut known {
                    let row = row(&bench, *place);
                    if known.state == RunState::Scheduled && row.state == RunState::Failed {
                        assert!(matches!(row.reason, Some(Reason::Expired | Reason::QueueTimeout)));
                        known.state = RunState::Failed;
                    }
                }
            }
            5 => {
                bench.clock.advance(random.i64(0..20));
                let now = bench.now();
                while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() > 0 {}
                for (place, known) in &mut known {
                    if known.state == RunState::Scheduled && row_too_late(&bench, *place, now) {
                        known.state = RunState::Failed;
                    }
                }
                known.retain(|place, _| find(&bench.store.read(), *place).unwrap().is_some());
            }
            6 => {
                // A restart: whatever has no container goes back, whatever has one goes on, one is lost.
                let busy = bench.store.read().scan(&BUSY, Scan::all()).unwrap();
                for (run_id, row) in busy {
                    let place = (row.tenant_id, run_id);
                    let entry = known.get_mut(&place).unwrap();
                    let is_known =
                        entry.state == RunState::Queued || (entry.state == RunState::Pulling && random.bool());
                    if is_known {
                        bench.run(move |tx, now| Ok(requeue(tx, now, place)?)).unwrap();
                        entry.state = RunState::Scheduled;
                    } else if random.u32(..4) == 0 {
                        let number = entry.starts;
                        let end = End::failed(Reason::WorkerLost, "gone", bench.now());
                        assert!(bench.run(move |tx, now| Ok(life::ended(tx, now, place, number, &end)?)).unwrap());
                        entry.state = RunState::Failed;
                    }
                }
            }
            command => {
                let Some(place) = place else { continue };
                let Known { state, starts } = known[&place];
                // Every so often a word about a container that is not the run's any more.
                let number = if random.u32(..8) == 0 { starts.wrapping_sub(1) } else { starts };
                let entry = known.get_mut(&place).unwrap();
                match command {
                    7 | 8 => {
                        let done = bench.run(move |tx, now| Ok(life::pulling(tx, now, place)?)).unwrap();
                        assert_eq!(done.is_some(), state == RunState::Queued);
                        if done.is_some() {
                            *entry = Known { state: RunState::Pulling, starts: starts + 1 };
                        }
                    }
                    9 => {
                        bench.run(move |tx, now| Ok(life::started(tx, now, place, number, now, "d")?)).unwrap();
                        if state == RunState::Pulling && number == starts {
                            entry.state = RunState::Running;
                        }
                    }
                    10 => {
                        let done = bench.run(move |tx, now| life::paused(tx, now, place, number));
                        assert_eq!(done.is_ok(), state == RunState::Running && number == starts);
                        if done.is_ok() {
                            entry.state = RunState::Paused;
                        }
                    }
                    11 => {
                        let done = bench.run(move |tx, now| life::resumed(tx, now, place, number, 1));
                        assert_eq!(done.is_ok(), state == RunState::Paused && number == starts);
                        if done.is_ok() {
                            entry.state = RunState::Running;
                        }
                    }
                    12 => {
                        let reason = [EndReason::Exited, EndReason::Killed, EndReason::TimedOut, EndReason::Lost];
                        let outcome = outcome(random.choice(reason).unwrap(), Some(random.i32(0..2)), None, false);
                        let end = End::of(&outcome, false, LastWords::default());
                        let state_then = end.state;
                        let news = bench.run(move |tx, now| Ok(life::ended(tx, now, place, number, &end)?)).unwrap();
                        // One that waits has no container; nobody tells of its end.
                        let has_container = state.holds_slot() && state != RunState::Queued;
                        assert_eq!(news, has_container && number == starts, "{state:?}");
                        if news {
                            entry.state = state_then;
                        }
                    }
                    _ => {
                        let done = bench.run(move |tx, now| life::delete(tx, now, place));
                        assert_eq!(done.is_ok(), !state.holds_slot());
                        if done.is_ok() {
                            known.remove(&place);
                        }
                    }
                }
            }
        }
        if step % 10 == 0 {
            audit(&bench, &known, &limits);
        }
    }
    audit(&bench, &known, &limits);
    assert!(known.len() > 20, "the life was too short to mean anything: {}", known.len());
}

#[test]
fn rows_that_contradict_each_other_are_found() {
    let bench = bench();
    let place = submitted(&bench, tenant(1), &Ceilings::default(), plain()).unwrap();
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
    bench
        .run(move |tx, _| {
            let row = find(tx, place)?.unwrap();
            tx.put(&RUNS, &place, &RunRow { state: RunState::Running, ..row })?;
            tx.delete(&DESCRIPTIONS, &place);
            Ok(())
        })
        .unwrap();
    let findings = crate::verify(&bench.store.read()).unwrap().join("\n");
    for part in ["index row", "what it is to run", "last event", "the counts", "listed as waiting", "listed as busy"] {
        assert!(findings.contains(part), "{part}: {findings}");
    }
}

#[test]
fn instants_of_another_clock_stay_between_what_came_before_and_now() {
    let bench = bench();
    let place = submitted(&bench, tenant(1), &Ceilings::default(), plain()).unwrap();
    dispatched(&bench, 1, &Ceilings::default());
    bench.run(move |tx, now| Ok(life::pulling(tx, now, place)?)).unwrap();
    bench.clock.advance(10);
    let far = Timestamp::from_micros(i64::MAX);
    bench.run(move |tx, now| Ok(life::started(tx, now, place, 1, far, "d")?)).unwrap();
    assert_eq!(row(&bench, place).started_at, Some(bench.now()));
}
