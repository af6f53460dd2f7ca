//! Working hours at work: starts by the clock, over closing time, and after the calendar has changed.

use super::*;
use crate::quotas::SetQuotas;
use crate::tables::{CHANGED_HOURS, QUOTAS, QuotasRow};

/// Monday to Friday, nine to five, UTC.
const OFFICE: &str = "shift office \"Office\" { }";
const HOUR: i64 = 3600;
/// From the half past twelve of a Wednesday at which every bench begins.
const TO_SATURDAY_TEN: i64 = 69 * HOUR + HOUR / 2;
const TO_MONDAY_NINE: i64 = 47 * HOUR;

fn set_hours(bench: &Bench, tenant_id: TenantId, text: Option<&str>) {
    let asked = SetQuotas { working_hours_tjp: Some(text.map(str::to_owned)), ..SetQuotas::default() };
    bench.run(move |tx, now| Ok(quotas::set(tx, now, tenant_id, asked)?)).unwrap();
}

fn swept(bench: &Bench) {
    while bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap() == 100 {}
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

fn shown_start(bench: &Bench, place: Place) -> (Timestamp, bool) {
    let hours = quotas::hours(&bench.store.read(), place.0).unwrap();
    queries::start(&hours, bench.now(), &row(bench, place))
}

#[test]
fn a_run_of_saturday_starts_on_monday_at_nine() {
    let bench = bench();
    let limits = Ceilings::default();
    set_hours(&bench, tenant(1), Some(OFFICE));
    let at_once = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    assert!(!row(&bench, at_once).working_hours_applied, "Wednesday at half past twelve is open");
    assert_eq!(dispatched(&bench, 9, &limits), [at_once]);
    bench.clock.advance(TO_SATURDAY_TEN);
    let monday = bench.now().plus_seconds(TO_MONDAY_NINE);
    let run = submitted(&bench, tenant(1), &limits, plain()).unwrap();
    let sunday = Submit { scheduled_start: Some(bench.now().plus_seconds(24 * HOUR)), ..plain() };
    let deferred = submitted(&bench, tenant(1), &limits, sunday).unwrap();
    let later = monday.plus_seconds(HOUR);
    let own_time = submitted(&bench, tenant(1), &limits, Submit { scheduled_start: Some(later), ..plain() }).unwrap();
    let other = submitted(&bench, tenant(2), &limits, plain()).unwrap();
    for place in [run, deferred] {
        let told = row(&bench, place);
        assert_eq!((told.eligible_start, told.working_hours_applied), (monday, true));
        assert_eq!(told.queue_deadline, monday.plus_seconds(HOUR), "the wait counts from the start");
    }
    let told = row(&bench, own_time);
    assert_eq!((told.eligible_start, told.working_hours_applied), (later, false));
    assert_eq!(dispatched(&bench, 9, &limits), [other], "another tenant's calendar is not this one's");
    let blocked = queries::blocked_by(&bench.store.read(), bench.now(), run.0, &row(&bench, run), &limits, 9, true);
    assert_eq!(blocked.unwrap(), Some(queries::BlockedBy::StartTime));
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
    assert_eq!(shown_start(&bench, run), (row(&bench, run).submitted_at, false));
    bench.clock.advance(1);
    let thursday = bench.now().plus_seconds(16 * HOUR);
    assert_eq!(dispatched(&bench, 9, &limits), [], "five o'clock is closed");
    assert_eq!(shown_start(&bench, run), (thursday, true));
    bench.clock.advance(1200);
    swept(&bench);
    assert_eq!(row(&bench, expires).reason, Some(Reason::Expired), "an absolute deadline stays one");
    bench.clock.advance(1800);
    swept(&bench);
    let told = row(&bench, run);
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
    assert_eq!((row(&bench, run).state, row(&bench, started).state), (RunState::Queued, RunState::Scheduled));
    set_hours(&bench, tenant(1), Some(OFFICE));
    bench.clock.advance(HOUR);
    swept(&bench);
    assert_eq!(row(&bench, started).reason, Some(Reason::QueueTimeout), "while it is open, waiting is waiting");
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
    let mut runs: Vec<Place> = (0..250).map(|_| submitted(&bench, tenant(1), &limits, plain()).unwrap()).collect();
    let sunday = bench.now().plus_seconds(24 * HOUR);
    let deferred = submitted(&bench, tenant(1), &limits, Submit { scheduled_start: Some(sunday), ..plain() }).unwrap();
    let starts = |places: &[Place], wanted: Timestamp| {
        let told = |place: &Place| row(&bench, *place).eligible_start;
        places.iter().filter(|place| told(place) == wanted).count()
    };
    assert_eq!((starts(&runs, monday), row(&bench, deferred).eligible_start), (250, monday));
    // Half of it is done when the calendar changes once more.
    let afternoon = bench.now().plus_seconds(2 * HOUR);
    set_hours(&bench, tenant(1), Some("shift s \"Saturdays\" { workinghours sat 11:00 - 12:00 }"));
    bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert!(starts(&runs, afternoon.plus_seconds(-HOUR)) > 50 && starts(&runs, monday) > 50);
    set_hours(&bench, tenant(1), Some("shift s \"Saturdays\" { workinghours sat 12:00 - 13:00 }"));
    swept(&bench);
    assert_eq!(starts(&runs, afternoon), 250);
    assert_eq!(row(&bench, deferred).eligible_start, monday, "Sunday is closed still");
    assert_eq!(row(&bench, runs[7]).queue_deadline, afternoon.plus_seconds(100));
    assert_eq!(bench.store.read().scan(&CHANGED_HOURS, Scan::all()).unwrap(), []);
    assert_eq!(dispatched(&bench, 999, &limits), []);
    // None at all: now, or when they were asked to start.
    set_hours(&bench, tenant(1), None);
    swept(&bench);
    assert_eq!((starts(&runs, bench.now()), row(&bench, deferred).eligible_start), (250, sunday));
    assert!(!row(&bench, deferred).working_hours_applied);
    // Ten at a time, one of them kept for the deferred one: in the order in which they came.
    runs.insert(0, eligible);
    assert_eq!(dispatched(&bench, 999, &limits), runs[..9]);
}

#[test]
fn quotas_that_are_set_hold_and_defaults_are_not_kept() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 5)]);
    let set = |numbers: &[(&'static str, u64)]| {
        let asked = SetQuotas { numbers: numbers.to_vec(), working_hours_tjp: None };
        bench.run(move |tx, now| Ok(quotas::set(tx, now, tenant(1), asked)?)).unwrap();
    };
    set(&[("max_daily_runs", 1), ("max_concurrent_runs", 3), ("max_cpu", 1500)]);
    set_hours(&bench, tenant(1), Some(OFFICE));
    set(&[("max_daily_runs", 1000), ("max_concurrent_runs", 4)]);
    let kept = bench.store.read().get(&QUOTAS, &tenant(1)).unwrap().unwrap();
    let numbers = vec![("max_concurrent_runs".to_owned(), 4), ("max_cpu".to_owned(), 1500)];
    assert_eq!(kept, QuotasRow { numbers, working_hours_tjp: Some(OFFICE.to_owned()) });
    let in_force = |number| quotas::effective(&bench.store.read(), tenant(number), &limits).unwrap().quotas;
    assert_eq!((in_force(1).max_concurrent_runs, in_force(1).max_cpu_millicores), (4, 1500));
    assert_eq!((in_force(2).max_concurrent_runs, in_force(2).max_cpu_millicores), (5, 2000));
    // What was set stays within a ceiling that comes later.
    let lower = ceilings(&[("max_concurrent_runs", 2)]);
    assert_eq!(quotas::effective(&bench.store.read(), tenant(1), &lower).unwrap().quotas.max_concurrent_runs, 2);
    // Every quota has a place to be set and read.
    for kind in crate::model::QUOTA_KINDS {
        assert!(
            crate::model::Quotas::default().by_name(kind.name).is_some_and(|value| *value >= kind.least),
            "{kind:?}"
        );
    }
}

#[test]
fn working_hours_that_cannot_be_read_are_found() {
    let bench = bench();
    let row = QuotasRow { numbers: Vec::new(), working_hours_tjp: Some("shift".into()) };
    bench.run(move |tx, _| Ok(tx.put(&QUOTAS, &tenant(1), &row)?)).unwrap();
    let findings = crate::verify(&bench.store.read()).unwrap().join("\n");
    assert!(findings.contains("not a calendar: line 1, column 6"), "{findings}");
    assert!(quotas::hours(&bench.store.read(), tenant(1)).is_err());
    assert!(bench.store.read().scan(&DUE, Scan::all()).unwrap().is_empty());
}
