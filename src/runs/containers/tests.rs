//! The verbs: a line a command and its expected answer; and a long life of random commands held against a model.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use quintet_runtime::{EndReason, Outcome, StreamTotals};
use quintet_storage::{Read as _, Scan, Timestamp, Uuid, WriteTx};

use super::archive::{self, Archive};
use super::changes::find;
use super::dispatch::{choose, dispatch, requeue};
use super::end::End;
use super::hours::set_quotas;
use super::list::{Filter, list};
use super::model::{Class, LastWords, Load, Reason, Run, Secrets};
use super::queue::{self, BlockedBy, Machine};
use super::removal::delete;
use super::shares::Turns;
use super::submission::{Submit, submit};
use super::tables::{
    ARCHIVES, ArchiveRow, BUSY, CONTAINERS, DESCRIPTIONS, EVENTS, LOADS, RESULTS, RUNS, RunRow, WAITING,
};
use super::{descriptions, life, loads, results, sealing};
use crate::allowances::model::SetQuotas;
use crate::allowances::{Ceilings, quotas};
use crate::aside::Aside;
use crate::due::{self, Due};
use crate::model::{RunId, RunKey, TenantId};
use crate::refusal::Refusal;
use crate::states::{Actor, RunState};
use crate::sweep::sweep;
use crate::testing::{Bench, bench, plain, tenant};
use crate::workflows::run_ended;

pub(crate) mod border;
mod costs;
mod estimates;
mod format_1;
mod hours;
mod metering;
mod retention;
mod telling;
mod waking;
mod ways;

fn ceilings(limits: &[(&str, u64)]) -> Ceilings {
    Ceilings(limits.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
}

fn submitted(bench: &Bench, tenant_id: TenantId, limits: &Ceilings, asked: Submit) -> Result<RunKey, Refusal> {
    let limits = limits.clone();
    bench.run(move |tx, now| submit(tx, now, tenant_id, &limits, asked)).map(|(run_id, _)| (tenant_id, run_id))
}

/// Has a run say that it has lines which nobody can open: sealed for another run.
pub(crate) fn spoil_archive(tx: &mut WriteTx<'_>, run_key: RunKey) {
    let elsewhere = (run_key.0, RunId(Uuid::nil()));
    let sealed = sealing::seal(tx, &ARCHIVES, elsewhere, b"x").unwrap().unwrap();
    tx.put(&ARCHIVES, &run_key, &ArchiveRow::Here(sealed)).unwrap();
}

fn machine(ceilings: &Ceilings, workers: u64) -> Machine<'_> {
    static NOBODY: LazyLock<Aside> = LazyLock::new(Aside::default);
    Machine { workers, aside: &NOBODY, keeps_last: false, ceilings, is_engine_up: true, is_disk_short: false }
}

/// All that falls due.
fn all_due(bench: &Bench) -> Vec<(Timestamp, Due)> {
    due::first(&bench.store.read(), usize::MAX).unwrap()
}

fn run_of(bench: &Bench, run_key: RunKey) -> Run {
    find(&bench.store.read(), run_key).unwrap().unwrap()
}

fn dispatched(bench: &Bench, workers: u64, limits: &Ceilings) -> Vec<RunKey> {
    let (limits, mut turns) = (limits.clone(), Turns::default());
    let chosen = choose(&bench.store.read(), bench.now(), machine(&limits, workers), 100, &mut turns).unwrap();
    given(bench, chosen, workers, limits)
}

fn given(bench: &Bench, chosen: Vec<RunKey>, workers: u64, limits: Ceilings) -> Vec<RunKey> {
    bench.run(move |tx, now| Ok(dispatch(tx, now, workers, &Aside::default(), &limits, chosen, run_ended)?)).unwrap()
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
    let given = run_of(&bench, first);
    assert_eq!((given.limits.timeout_seconds, given.limits.cpu_millicores, given.clamped), (100, 500, true));
    let second = submitted(&bench, tenant(1), &limits, Submit { timeout_seconds: Some(100), ..plain() }).unwrap();
    assert!(!run_of(&bench, second).clamped, "defaults above a ceiling are not asked for");
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
    let secrets =
        Secrets { env: vec![("TOKEN".into(), "hunter2".into())], webhook_secret: Some("s".into()), command: None };
    let asked = Submit { secrets: secrets.clone(), ..plain() };
    let run_key = submitted(&bench, tenant(1), &Ceilings::default(), asked).unwrap();
    let (description, opened) = descriptions::open(&bench.store.read(), run_key).unwrap().unwrap();
    assert_eq!((opened, description.env_names), (secrets, vec!["TOKEN".to_owned()]));
    assert!(!format!("{:?}", run_of(&bench, run_key)).contains("hunter2"));
}

#[test]
fn slots_go_to_who_holds_the_fewest_within_quotas_and_the_machine() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 2)]);
    let mine: Vec<RunKey> = (0..4).map(|_| submitted(&bench, tenant(1), &limits, plain()).unwrap()).collect();
    let other = submitted(&bench, tenant(2), &limits, plain()).unwrap();
    assert_eq!(dispatched(&bench, 0, &limits), []);
    assert_eq!(dispatched(&bench, 1, &limits), [mine[0]]);
    // The other tenant's, which holds none, then the tenant's second: it has had its two.
    assert_eq!(dispatched(&bench, 9, &limits), [other, mine[1]]);
    assert_eq!(dispatched(&bench, 9, &limits), []);
    let read = bench.store.read();
    assert_eq!(queue::position(&read, mine[3], &run_of(&bench, mine[3])).unwrap(), Some(2));
    let blocked = |run_key: RunKey, workers, is_engine_up| {
        let (read, machine) = (bench.store.read(), Machine { is_engine_up, ..machine(&limits, workers) });
        queue::blocked_by(&read, bench.now(), run_key.0, &run_of(&bench, run_key), machine).unwrap()
    };
    assert_eq!(blocked(mine[3], 9, true), Some(BlockedBy::Concurrency));
    assert_eq!(blocked(mine[0], 9, true), None);
    let third = submitted(&bench, tenant(3), &limits, plain()).unwrap();
    assert_eq!(blocked(third, 9, false), Some(BlockedBy::Engine));
    assert_eq!(blocked(third, 3, true), Some(BlockedBy::Workers));
    assert_eq!(blocked(third, 4, true), None);
    let read = bench.store.read();
    let short = |workers| Machine { is_disk_short: true, ..machine(&limits, workers) };
    let told = queue::scheduling(&read, bench.now(), third, &run_of(&bench, third), short(4)).unwrap();
    assert_eq!((told.blocked_by, told.estimated_start), (Some(BlockedBy::Disk), None), "nobody knows");
    let blocked_by = queue::blocked_by(&read, bench.now(), tenant(3), &run_of(&bench, third), short(3)).unwrap();
    assert_eq!(blocked_by, Some(BlockedBy::Workers), "a slot would not help yet");
    // A slot that is given back.
    let first = mine[0];
    bench.run(move |tx, now| Ok(requeue(tx, now, first)?)).unwrap();
    assert_eq!(dispatched(&bench, 9, &limits), [third, first]);
}

#[test]
fn a_run_that_waits_for_its_image_holds_its_slot_and_no_worker() {
    let (bench, aside, mut turns) = (bench(), Aside::default(), Turns::default());
    let limits = ceilings(&[("max_concurrent_runs", 2)]);
    let mine: Vec<RunKey> = (0..3).map(|_| submitted(&bench, tenant(1), &limits, plain()).unwrap()).collect();
    let other = submitted(&bench, tenant(2), &limits, plain()).unwrap();
    let machine = Machine { aside: &aside, ..machine(&limits, 1) };
    let mut look = |machine| choose(&bench.store.read(), bench.now(), machine, 100, &mut turns).unwrap();
    assert_eq!(look(machine), [mine[0]]);
    assert_eq!(given(&bench, vec![mine[0]], 1, limits.clone()), [mine[0]]);
    assert_eq!(look(machine), []);
    let standing = aside.step(mine[0], bench.now());
    assert_eq!(look(machine), [other], "its turn is longest ago");
    // Its image is here, and its worker with somebody else.
    let now_others = {
        let (aside, limits, second) = (aside.clone(), limits.clone(), mine[1]);
        bench.run(move |tx, now| Ok(dispatch(tx, now, 1, &aside, &limits, vec![other, second], run_ended)?)).unwrap()
    };
    assert_eq!(now_others, [other], "there is one worker");
    standing.ready();
    assert_eq!(look(machine), []);
    let blocked = |machine: Machine<'_>, run_key: RunKey| {
        queue::blocked_by(&bench.store.read(), bench.now(), run_key.0, &run_of(&bench, run_key), machine).unwrap()
    };
    assert_eq!(blocked(machine, mine[1]), Some(BlockedBy::Workers));
    assert_eq!(look(Machine { workers: 3, ..machine }), [mine[0], mine[1]], "its slot counts, and it comes first");
    assert!(aside.give(mine[0].1));
    assert_eq!(look(Machine { workers: 2, ..machine }), []);
    // The last worker is for somebody who holds none.
    let kept = Machine { workers: 3, keeps_last: true, ..machine };
    assert_eq!((look(kept), blocked(kept, mine[1])), (vec![], Some(BlockedBy::Workers)));
    let third = submitted(&bench, tenant(3), &limits, plain()).unwrap();
    assert_eq!((look(kept), blocked(kept, third)), (vec![third], None));
    assert_eq!(blocked(Machine { workers: 4, ..kept }, mine[1]), None);
}

#[test]
fn a_choice_that_is_not_right_any_more_gives_nothing_away() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 2)]);
    let runs: Vec<RunKey> = (0..4).map(|_| submitted(&bench, tenant(1), &limits, plain()).unwrap()).collect();
    let others: Vec<RunKey> = (0..3).map(|_| submitted(&bench, tenant(2), &limits, plain()).unwrap()).collect();
    let wide = ceilings(&[("max_concurrent_runs", 99)]);
    let given = |chosen: &[RunKey], workers, limits: &Ceilings| given(&bench, chosen.to_vec(), workers, limits.clone());
    let first = runs[0];
    bench.run(move |tx, now| delete(tx, now, first)).unwrap();
    assert_eq!(given(&runs, 9, &limits), runs[1..3], "one was deleted, one is more than the quota");
    assert_eq!(given(&runs, 9, &limits), [], "they have their slots");
    assert_eq!(given(&others, 3, &wide), others[..1], "the machine has three");
    // Its calendar has closed: what was eligible is not any more.
    let text =
        Some(Some("shift s \"Saturdays\" { workinghours mon - fri off workinghours sat 9:00 - 10:00 }".to_owned()));
    let asked = SetQuotas { working_hours_tjp: text, ..SetQuotas::default() };
    bench.run(move |tx, now| Ok(set_quotas(tx, now, tenant(2), asked)?)).unwrap();
    assert_eq!(given(&others, 9, &wide), []);
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_deferred_run_has_its_slot_kept() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 2)]);
    let later = Submit { scheduled_start: Some(bench.now().plus_seconds(60)), ..plain() };
    let past = Submit { scheduled_start: Some(bench.now().plus_seconds(-60)), ..plain() };
    let deferred = submitted(&bench, tenant(1), &limits, later.clone()).unwrap();
    let now_run = submitted(&bench, tenant(1), &limits, past).unwrap();
    assert_eq!(run_of(&bench, now_run).eligible_start, bench.now(), "a past start is now");
    let second = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert_eq!(dispatched(&bench, 9, &limits), [now_run], "one slot of two is kept");
    let machine = machine(&limits, 9);
    let blocked = queue::blocked_by(&bench.store.read(), bench.now(), tenant(1), &run_of(&bench, second), machine);
    assert_eq!(blocked.unwrap(), Some(BlockedBy::Reservations));
    bench.clock.advance(60);
    assert_eq!(dispatched(&bench, 9, &limits), [deferred]);
    // More reservations than slots count as many as there are slots, and do not lock each other out.
    let many: Vec<RunKey> = (0..4).map(|_| submitted(&bench, tenant(2), &limits, later.clone()).unwrap()).collect();
    assert!(many.iter().all(|run_key| run_of(&bench, *run_key).class != Class::Deferred), "that start has passed");
    let later = Submit { scheduled_start: Some(bench.now().plus_seconds(60)), ..plain() };
    let many: Vec<RunKey> = (0..4).map(|_| submitted(&bench, tenant(3), &limits, later.clone()).unwrap()).collect();
    bench.clock.advance(60);
    let given = dispatched(&bench, 99, &limits);
    assert_eq!(given.iter().filter(|run_key| many.contains(run_key)).count(), 2);
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
    let told = |run_key: RunKey| (run_of(&bench, run_key).state, run_of(&bench, run_key).reason);
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
    assert_eq!(all_due(&bench), []);
}

#[test]
fn what_is_told_of_an_earlier_container_or_after_the_end_changes_nothing() {
    let bench = bench();
    let limits = Ceilings::default();
    let run_key = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert!(bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap().is_none(), "it has no slot");
    dispatched(&bench, 1, &limits);
    bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap().unwrap();
    bench.run(move |tx, now| Ok(requeue(tx, now, run_key)?)).unwrap();
    dispatched(&bench, 1, &limits);
    let again = bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap().unwrap();
    assert_eq!(again.starts, 2, "a new container has a new number");
    let end = |bench: &Bench, number, code| {
        let end = End::of(&outcome(EndReason::Exited, Some(code), None, false), false, LastWords::default());
        bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, number, &end)?)).unwrap()
    };
    let start = |bench: &Bench, number| {
        bench.run(move |tx, now| Ok(life::started(tx, now, run_key, number, now, "sha256:0")?)).unwrap();
        run_of(bench, run_key).state
    };
    assert_eq!(start(&bench, 1), RunState::Pulling);
    assert!(!end(&bench, 1, 9));
    assert_eq!(start(&bench, 2), RunState::Running);
    assert_eq!(
        bench.run(move |tx, now| life::resumed(tx, now, Actor::Api, run_key, 2, 0)),
        Err(Refusal::InvalidState("running"))
    );
    bench.run(move |tx, now| life::paused(tx, now, Actor::Api, run_key, 2)).unwrap();
    assert_eq!(bench.run(move |tx, now| life::stopping(tx, now, run_key)), Err(Refusal::InvalidState("paused")));
    assert_eq!(bench.run(move |tx, now| delete(tx, now, run_key)), Err(Refusal::RunActive));
    bench.run(move |tx, now| life::resumed(tx, now, Actor::Api, run_key, 2, 5)).unwrap();
    assert!(bench.run(move |tx, now| life::stopping(tx, now, run_key)).unwrap());
    assert!(!bench.run(move |tx, now| life::stopping(tx, now, run_key)).unwrap(), "the second changes nothing");
    assert!(end(&bench, 2, 0));
    assert!(!end(&bench, 2, 1), "it stays as it ended");
    assert_eq!(start(&bench, 2), RunState::Exited);
    bench.run(move |tx, now| Ok(requeue(tx, now, run_key)?)).unwrap();
    assert_eq!(run_of(&bench, run_key).exit_code, Some(0));
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
    let run_key = submitted(&bench, tenant(1), &Ceilings::default(), plain()).unwrap();
    dispatched(&bench, 1, &Ceilings::default());
    bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap();
    let words = LastWords { summary: "done".into(), output: Some("1".into()) };
    let end = End::of(&outcome(EndReason::Exited, Some(0), None, false), false, words.clone());
    bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, 1, &end)?)).unwrap();
    let ended = run_of(&bench, run_key);
    assert_eq!((ended.state, ended.events), (RunState::Exited, 5));
    assert!(ended.started_at.unwrap() >= ended.pulling_at.unwrap() && ended.finished_at >= ended.started_at);
    let (result, told) = results::get(&bench.store.read(), run_key).unwrap();
    assert_eq!((result.cpu_micros, told), (20, words));
    bench.run(move |tx, now| Ok(archive::keep(tx, now, run_key, Some(&Archive::Small(vec![1, 2])))?)).unwrap();
    assert!(bench.store.read().contains(&ARCHIVES, &run_key).unwrap());
    bench.run(move |tx, now| delete(tx, now, run_key)).unwrap();
    let read = bench.store.read();
    assert!(!read.contains(&ARCHIVES, &run_key).unwrap() && !read.contains(&RESULTS, &run_key).unwrap());
    assert!(!read.contains(&DESCRIPTIONS, &run_key).unwrap() && !read.contains(&CONTAINERS, &run_key.1).unwrap());
    assert_eq!(bench.run(move |tx, now| delete(tx, now, run_key)), Err(Refusal::NotFound));
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
        let page = list(&bench.store.read(), tenant(1), filter, after, limit).unwrap();
        (page.runs.into_iter().map(|(run_id, ..)| run_id).collect::<Vec<_>>(), page.next)
    };
    let ids: Vec<_> = mine.iter().rev().map(|run_key| run_key.1).collect();
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
    let middle = run_of(&bench, mine[2]).submitted_at;
    let after = Filter { submitted_after: Some(middle), ..Filter::default() };
    assert_eq!(page(&after, None, 200).0, ids[..5]);
    let before = Filter { submitted_before: Some(middle), ..Filter::default() };
    assert_eq!(page(&before, None, 200).0, ids[5..]);
    let exited = Filter { state: Some(RunState::Exited), ..Filter::default() };
    assert_eq!(page(&exited, None, 200), (Vec::new(), None));
}

/// Whether a run that waited was late at that time; one that is gone has ended before.
fn row_too_late(bench: &Bench, run_key: RunKey, now: Timestamp) -> bool {
    find(&bench.store.read(), run_key).unwrap().is_none_or(|row| row.too_late_at() <= now)
}

/// What the model remembers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    state: RunState,
    starts: u32,
}

/// Holds every index and count against the rows.
fn audit(bench: &Bench, known: &BTreeMap<RunKey, Known>, limits: &Ceilings) {
    let read = bench.store.read();
    assert_eq!(crate::verify(&read).unwrap(), Vec::<String>::new());
    let rows = read.scan(&RUNS, Scan::all()).unwrap();
    let rows: BTreeMap<RunKey, Run> = rows.into_iter().map(|(run_key, row)| (run_key, row.into())).collect();
    let states: BTreeMap<RunKey, Known> =
        rows.iter().map(|(run_key, row)| (*run_key, Known { state: row.state, starts: row.starts })).collect();
    assert_eq!(&states, known);
    let waiting = read.scan(&WAITING, Scan::all()).unwrap();
    let busy = read.scan(&BUSY, Scan::all()).unwrap();
    let of = |state: fn(RunState) -> bool| rows.values().filter(|row| state(row.state)).count();
    assert_eq!(waiting.len(), of(|state| state == RunState::Scheduled));
    assert_eq!(busy.len(), of(RunState::holds_slot));
    for (tenant_id, load) in loads::all(&read).unwrap() {
        let mine = || rows.iter().filter(|(run_key, _)| run_key.0 == tenant_id).map(|(_, row)| row);
        let held = mine().filter(|row| row.state.holds_slot()).count() as u64;
        let waits = mine().filter(|row| row.state == RunState::Scheduled).count() as u64;
        assert_eq!((load.busy, load.waiting + load.deferred), (held, waits));
        assert!(held <= 3, "more than the quota");
    }
    assert!(busy.len() <= 5, "more than the machine");
    let events = read.scan(&EVENTS, Scan::all()).unwrap().len();
    assert_eq!(events, rows.values().map(|row| row.events as usize).sum::<usize>());
    assert!(all_due(bench).into_iter().all(|(_, due)| match due {
        Due::Eligible(run_key) | Due::TooLate(run_key) | Due::Old(run_key) => rows.contains_key(&run_key),
        Due::Hours(_) | Due::Events(_) | Due::OldTimer(_) | Due::OldWorkflow(_) => false,
    }));
    let chosen = choose(&read, bench.now(), machine(limits, 5), 100, &mut Turns::default()).unwrap();
    assert!(chosen.iter().all(|run_key| rows[run_key].state == RunState::Scheduled));
}

/// A life of commands, restarts included: after each, rows, indexes and counts agree with a model that knows nothing
/// but the table of states.
#[test]
fn a_long_life_agrees_with_the_model() {
    let seed = std::env::var("RUNS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let mut random = fastrand::Rng::with_seed(seed);
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 3), ("max_queue_seconds", 40), ("retention_days", 1)]);
    let mut known: BTreeMap<RunKey, Known> = BTreeMap::new();
    for step in 0..1_500 {
        let run_key = random.choice(known.keys().copied().collect::<Vec<_>>());
        match random.u32(..14) {
            0..=2 => {
                let start = bench.now().plus_seconds(random.i64(-5..30));
                let expiry = bench.now().plus_seconds(random.i64(1..60));
                let asked = Submit {
                    scheduled_start: random.bool().then_some(start),
                    expires_at: random.bool().then_some(expiry),
                    ..plain()
                };
                let run_key = submitted(&bench, tenant(random.u128(1..4)), &limits, asked).unwrap();
                known.insert(run_key, Known { state: RunState::Scheduled, starts: 0 });
            }
            3..=4 => {
                let given = dispatched(&bench, 5, &limits);
                for run_key in &given {
                    assert_eq!(known[run_key].state, RunState::Scheduled, "step {step}");
                    known.get_mut(run_key).unwrap().state = RunState::Queued;
                }
                // Those that came too late have failed instead.
                for (run_key, known) in &mut known {
                    let row = run_of(&bench, *run_key);
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
                for (run_key, known) in &mut known {
                    if known.state == RunState::Scheduled && row_too_late(&bench, *run_key, now) {
                        known.state = RunState::Failed;
                    }
                }
                known.retain(|run_key, _| find(&bench.store.read(), *run_key).unwrap().is_some());
            }
            6 => {
                // A restart: whatever has no container goes back, whatever has one goes on, one is lost.
                let busy = bench.store.read().scan(&BUSY, Scan::all()).unwrap();
                for (run_id, row) in busy {
                    let run_key = (row.tenant_id, run_id);
                    let entry = known.get_mut(&run_key).unwrap();
                    let is_known =
                        entry.state == RunState::Queued || (entry.state == RunState::Pulling && random.bool());
                    if is_known {
                        bench.run(move |tx, now| Ok(requeue(tx, now, run_key)?)).unwrap();
                        entry.state = RunState::Scheduled;
                    } else if random.u32(..4) == 0 {
                        let number = entry.starts;
                        let end = End::failed(Reason::WorkerLost, "gone", bench.now());
                        assert!(bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, number, &end)?)).unwrap());
                        entry.state = RunState::Failed;
                    }
                }
            }
            command => {
                let Some(run_key) = run_key else { continue };
                let Known { state, starts } = known[&run_key];
                // Every so often a word about a container that is not the run's any more.
                let number = if random.u32(..8) == 0 { starts.wrapping_sub(1) } else { starts };
                let entry = known.get_mut(&run_key).unwrap();
                match command {
                    7 | 8 => {
                        let done = bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap();
                        assert_eq!(done.is_some(), state == RunState::Queued);
                        if done.is_some() {
                            *entry = Known { state: RunState::Pulling, starts: starts + 1 };
                        }
                    }
                    9 => {
                        bench.run(move |tx, now| Ok(life::started(tx, now, run_key, number, now, "d")?)).unwrap();
                        if state == RunState::Pulling && number == starts {
                            entry.state = RunState::Running;
                        }
                    }
                    10 => {
                        let done = bench.run(move |tx, now| life::paused(tx, now, Actor::Api, run_key, number));
                        assert_eq!(done.is_ok(), state == RunState::Running && number == starts);
                        if done.is_ok() {
                            entry.state = RunState::Paused;
                        }
                    }
                    11 => {
                        let done = bench.run(move |tx, now| life::resumed(tx, now, Actor::Api, run_key, number, 1));
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
                        let news = bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, number, &end)?)).unwrap();
                        // One that waits has no container; nobody tells of its end.
                        let has_container = state.holds_slot() && state != RunState::Queued;
                        assert_eq!(news, has_container && number == starts, "{state:?}");
                        if news {
                            entry.state = state_then;
                        }
                    }
                    _ => {
                        let done = bench.run(move |tx, now| delete(tx, now, run_key));
                        assert_eq!(done.is_ok(), !state.holds_slot());
                        if done.is_ok() {
                            known.remove(&run_key);
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
    let run_key = submitted(&bench, tenant(1), &Ceilings::default(), plain()).unwrap();
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
    bench
        .run(move |tx, _| {
            let row = find(tx, run_key)?.unwrap();
            tx.put(&RUNS, &run_key, &RunRow::from(&Run { state: RunState::Running, ..row }))?;
            tx.delete(&DESCRIPTIONS, &run_key);
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
    let run_key = submitted(&bench, tenant(1), &Ceilings::default(), plain()).unwrap();
    dispatched(&bench, 1, &Ceilings::default());
    bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap();
    bench.clock.advance(10);
    let far = Timestamp::from_micros(i64::MAX);
    bench.run(move |tx, now| Ok(life::started(tx, now, run_key, 1, far, "d")?)).unwrap();
    assert_eq!(run_of(&bench, run_key).started_at, Some(bench.now()));
}
