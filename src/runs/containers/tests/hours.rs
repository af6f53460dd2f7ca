//! Working hours at work: starts by the clock, over closing time, and after the calendar has changed.

use super::*;
use crate::containers::tables::CHANGED_HOURS;

/// Monday to Friday, nine to five, UTC.
const OFFICE: &str = "shift office \"Office\" { }";
const HOUR: i64 = 3600;
/// From the half past twelve of a Wednesday at which every bench begins.
const TO_SATURDAY_TEN: i64 = 69 * HOUR + HOUR / 2;
const TO_MONDAY_NINE: i64 = 47 * HOUR;

fn set_hours(bench: &Bench, tenant_id: TenantId, text: Option<&str>) {
    let asked = SetQuotas { working_hours_tjp: Some(text.map(str::to_owned)), ..SetQuotas::default() };
    bench.run(move |tx, now| Ok(set_quotas(tx, now, tenant_id, asked)?)).unwrap();
}

fn swept(bench: &Bench) {
    while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() == 100 {}
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

fn shown_start(bench: &Bench, run_key: RunKey) -> (Timestamp, bool) {
    let hours = quotas::hours(&bench.store.read(), run_key.0).unwrap();
    queue::start(&hours, bench.now(), &run_of(bench, run_key))
}

#[test]
fn a_run_of_saturday_starts_on_monday_at_nine() {
    let bench = bench();
    let limits = Ceilings::default();
    set_hours(&bench, tenant(1), Some(OFFICE));
    let at_once = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert!(!run_of(&bench, at_once).working_hours_applied, "Wednesday at half past twelve is open");
    assert_eq!(dispatched(&bench, 9, &limits), [at_once]);
    bench.clock.advance(TO_SATURDAY_TEN);
    let monday = bench.now().plus_seconds(TO_MONDAY_NINE);
    let run = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    let sunday = Submit { scheduled_start: Some(bench.now().plus_seconds(24 * HOUR)), ..plain() };
    let deferred = submitted(&bench, tenant(1), &limits, sunday).unwrap();
    let later = monday.plus_seconds(HOUR);
    let own_time = submitted(&bench, tenant(1), &limits, Submit { scheduled_start: Some(later), ..plain() }).unwrap();
    let other = submitted(&bench, tenant(2), &limits, plain()).unwrap();
    for run_key in [run, deferred] {
        let told = run_of(&bench, run_key);
        assert_eq!((told.eligible_start, told.working_hours_applied), (monday, true));
        assert_eq!(told.queue_deadline, monday.plus_seconds(HOUR), "the wait counts from the start");
    }
    let told = run_of(&bench, own_time);
    assert_eq!((told.eligible_start, told.working_hours_applied), (later, false));
    assert_eq!(dispatched(&bench, 9, &limits), [other], "another tenant's calendar is not this one's");
    let machine = machine(&limits, 9);
    let blocked = queue::blocked_by(&bench.store.read(), bench.now(), run.0, &run_of(&bench, run), machine);
    assert_eq!(blocked.unwrap(), Some(BlockedBy::StartTime));
    bench.clock.advance(TO_MONDAY_NINE - 1);
    swept(&bench);
    assert_eq!(dispatched(&bench, 9, &limits), []);
    bench.clock.advance(1);
    swept(&bench);
    assert_eq!(dispatched(&bench, 9, &limits), [run, deferred]);
}

#[test]
fn what_misses_its_slot_before_closing_time_waits_for_the_next_opening() {
    let bench = bench();
    let limits = Ceilings::default();
    set_hours(&bench, tenant(1), Some(OFFICE));
    // Wednesday, ten to five.
    bench.clock.advance(4 * HOUR + 1200);
    let run = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    let expires = Submit { expires_at: Some(bench.now().plus_seconds(1800)), ..plain() };
    let expires = submitted(&bench, tenant(1), &limits, expires).unwrap();
    let started = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert_eq!(dispatched(&bench, 0, &limits), []);
    bench.clock.advance(599);
    assert_eq!(shown_start(&bench, run), (run_of(&bench, run).submitted_at, false));
    bench.clock.advance(1);
    let thursday = bench.now().plus_seconds(16 * HOUR);
    assert_eq!(dispatched(&bench, 9, &limits), [], "five o'clock is closed");
    assert_eq!(shown_start(&bench, run), (thursday, true));
    bench.clock.advance(1200);
    swept(&bench);
    assert_eq!(run_of(&bench, expires).reason, Some(Reason::Expired), "an absolute deadline stays one");
    bench.clock.advance(1800);
    swept(&bench);
    let told = run_of(&bench, run);
    assert_eq!((told.state, told.eligible_start, told.working_hours_applied), (RunState::Scheduled, thursday, true));
    assert_eq!(told.queue_deadline, thursday.plus_seconds(HOUR));
    bench.clock.advance(16 * HOUR - 3000);
    assert_eq!(dispatched(&bench, 1, &limits), [run], "in the order of submission");
    // What has its slot goes on, whatever the calendar says.
    set_hours(
        &bench,
        tenant(1),
        Some("shift s \"Weekend\" { workinghours mon - fri off workinghours sat 9:00 - 10:00 }"),
    );
    swept(&bench);
    assert_eq!((run_of(&bench, run).state, run_of(&bench, started).state), (RunState::Queued, RunState::Scheduled));
    set_hours(&bench, tenant(1), Some(OFFICE));
    bench.clock.advance(HOUR);
    swept(&bench);
    assert_eq!(run_of(&bench, started).reason, Some(Reason::QueueTimeout), "while it is open, waiting is waiting");
}

#[test]
fn a_changed_calendar_decides_anew_about_all_that_waits() {
    let bench = bench();
    let limits = ceilings(&[("max_queue_seconds", 100)]);
    bench.clock.advance(TO_SATURDAY_TEN);
    let eligible = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    set_hours(&bench, tenant(1), Some(OFFICE));
    swept(&bench);
    let monday = bench.now().plus_seconds(TO_MONDAY_NINE);
    assert_eq!(shown_start(&bench, eligible), (monday, true));
    let mut runs: Vec<RunKey> = (0..250).map(|_| submitted(&bench, tenant(1), &limits, plain()).unwrap()).collect();
    let sunday = bench.now().plus_seconds(24 * HOUR);
    let deferred = submitted(&bench, tenant(1), &limits, Submit { scheduled_start: Some(sunday), ..plain() }).unwrap();
    let starts = |run_keys: &[RunKey], wanted: Timestamp| {
        let told = |run_key: &RunKey| run_of(&bench, *run_key).eligible_start;
        run_keys.iter().filter(|run_key| told(run_key) == wanted).count()
    };
    assert_eq!((starts(&runs, monday), run_of(&bench, deferred).eligible_start), (250, monday));
    // Half of it is done when the calendar changes once more.
    let afternoon = bench.now().plus_seconds(2 * HOUR);
    set_hours(&bench, tenant(1), Some("shift s \"Saturdays\" { workinghours sat 11:00 - 12:00 }"));
    bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert!(starts(&runs, afternoon.plus_seconds(-HOUR)) > 50 && starts(&runs, monday) > 50);
    set_hours(&bench, tenant(1), Some("shift s \"Saturdays\" { workinghours sat 12:00 - 13:00 }"));
    swept(&bench);
    assert_eq!(starts(&runs, afternoon), 250);
    assert_eq!(run_of(&bench, deferred).eligible_start, monday, "Sunday is closed still");
    assert_eq!(run_of(&bench, runs[7]).queue_deadline, afternoon.plus_seconds(100));
    assert_eq!(bench.store.read().scan(&CHANGED_HOURS, Scan::all()).unwrap(), []);
    assert_eq!(dispatched(&bench, 999, &limits), []);
    // None at all: now, or when they were asked to start.
    set_hours(&bench, tenant(1), None);
    swept(&bench);
    assert_eq!((starts(&runs, bench.now()), run_of(&bench, deferred).eligible_start), (250, sunday));
    assert!(!run_of(&bench, deferred).working_hours_applied);
    // Ten at a time, one of them kept for the deferred one: in the order in which they came.
    runs.insert(0, eligible);
    assert_eq!(dispatched(&bench, 999, &limits), runs[..9]);
}
