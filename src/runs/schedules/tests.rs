//! Schedules over a real store whose clock the tests set: what they fire for, what is missed, whatever is done to them in
//! between. A model that goes from minute to minute has the last word.
//!
//! `QUINTET_SEED=N` runs the case of a failure again.

use quintet_platform::access::{AccessRefusal, CreateTenant, Services, activate_tenant, create_tenant, suspend_tenant};
use quintet_platform::clock::{parse_rfc3339, rfc3339};
use quintet_platform::deliveries::counters;
use quintet_platform::jobs::Progress;
use quintet_platform::json::Json;
use quintet_platform::secrets::Secret;
use quintet_storage::seal::{self, KeyOwner};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::change::{change, set_enabled};
use super::create::create;
use super::model::{Misfire, NewSchedule, SCHEDULES_MAX, Schedule, ScheduleChange, Timing};
use super::operator::schedules;
use super::remove::remove;
use super::rows::find;
use super::tables::{CONTENTS, SCHEDULES};
use crate::alarms::counts;
use crate::alarms::model::NewWebhook;
use crate::due;
use crate::model::ScheduleKey;
use crate::refusal::Refusal;
use crate::sweep::begin;
use crate::testing::{Bench, bench, tenant};
use crate::webhooks::model::{SecretOrigin, SigningSecret, outbox};

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

fn at(text: &str) -> Timestamp {
    parse_rfc3339(text).unwrap()
}

/// A store whose clock stands at this instant.
fn bench_at(text: &str) -> Bench {
    let bench = bench();
    bench.clock.advance_micros(at(text).micros_since(bench.now()));
    bench
}

fn secret() -> SigningSecret {
    SigningSecret { key: Secret::new(b"sesame".to_vec()), origin: SecretOrigin::Generated }
}

fn timing(cron: &str, timezone: &str) -> Timing {
    Timing { cron: cron.to_owned(), timezone: timezone.to_owned(), start_at: None, end_at: None }
}

fn asked(timing: Timing, misfire: Misfire) -> NewSchedule {
    NewSchedule {
        name: None,
        timing,
        webhook: NewWebhook { url: "https://example.com/".to_owned(), secret: None },
        payload: Json::Null,
        misfire,
        is_enabled: true,
        key_id: String::new(),
    }
}

fn try_made(bench: &Bench, timing: Timing, misfire: Misfire) -> Result<ScheduleKey, Refusal> {
    let made = bench.run(move |tx, now| create(tx, now, tenant(1), asked(timing, misfire), &secret()));
    made.map(|(id, _)| (tenant(1), id))
}

fn made(bench: &Bench, timing: Timing, misfire: Misfire) -> ScheduleKey {
    try_made(bench, timing, misfire).unwrap()
}

fn swept(bench: &Bench) {
    while bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap().1.progress == Progress::More {}
}

/// Lets so many seconds pass, with a look at every minute: as long as the appliance is on.
fn watched(bench: &Bench, seconds: i64) {
    for _ in 0..seconds / MINUTE {
        bench.clock.advance(MINUTE);
        swept(bench);
    }
}

fn of(bench: &Bench, key: ScheduleKey) -> Schedule {
    find(&bench.store.read(), key).unwrap().unwrap()
}

fn told(bench: &Bench) -> u64 {
    counters(&bench.store.read(), outbox(tenant(1))).unwrap().last_id
}

fn changed(bench: &Bench, key: ScheduleKey, asked: ScheduleChange) -> Result<Schedule, Refusal> {
    bench.run(move |tx, now| change(tx, now, key, asked))
}

fn next(bench: &Bench, key: ScheduleKey) -> Option<String> {
    of(bench, key).next_fire_at.map(rfc3339)
}

fn assert_sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_schedule_fires_at_each_instant_while_months_pass() {
    let bench = bench_at("2026-01-15T10:30:00Z");
    let key = made(&bench, timing("0 9 1 * *", "UTC"), Misfire::FireOnce);
    for (count, month) in (2..=7).enumerate() {
        assert_eq!(next(&bench, key).unwrap(), format!("2026-{month:02}-01T09:00:00.000000Z"));
        let at = of(&bench, key).next_fire_at.unwrap();
        bench.clock.advance_micros(at.micros_since(bench.now()) - 1);
        swept(&bench);
        assert_eq!(told(&bench), count as u64, "not before its time");
        bench.clock.advance_micros(1);
        swept(&bench);
        let schedule = of(&bench, key);
        assert_eq!((schedule.fire_count, schedule.missed_count), (count as u64 + 1, 0));
        assert_eq!((schedule.last_fire_at, schedule.seen_to), (Some(at), Some(at)));
        assert_eq!(told(&bench), count as u64 + 1);
    }
    assert_sound(&bench);
}

#[test]
fn it_follows_the_clocks_of_its_zone() {
    // Berlin sets its clocks forward at 02:00 on 2026-03-29, and back at 03:00 on 2026-10-25.
    let bench = bench_at("2026-03-28T00:00:00Z");
    let key = made(&bench, timing("30 2 * * *", "Europe/Berlin"), Misfire::FireOnce);
    let mut fires = Vec::new();
    for _ in 0..3 {
        let at = of(&bench, key).next_fire_at.unwrap();
        bench.clock.advance_micros(at.micros_since(bench.now()));
        swept(&bench);
        fires.push(rfc3339(at)[..16].to_owned());
    }
    assert_eq!(fires, ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"], "in the gap once just after it");
    let bench = bench_at("2026-10-24T22:00:00Z");
    let fixed = made(&bench, timing("30 2 * * *", "Europe/Berlin"), Misfire::FireOnce);
    let elapsed = made(&bench, timing("*/30 2 * * *", "Europe/Berlin"), Misfire::FireOnce);
    watched(&bench, 6 * 3600);
    assert_eq!(of(&bench, fixed).fire_count, 1, "once on the first pass");
    assert_eq!(of(&bench, elapsed).fire_count, 4, "by the time that passes");
    assert_eq!(told(&bench), 5);
}

#[test]
fn what_nobody_fired_for_in_time_is_missed_and_its_latest_made_up_for() {
    let bench = bench_at("2026-05-01T12:00:00Z");
    let (once, skip) = (Misfire::FireOnce, Misfire::Skip);
    let keys = [once, skip].map(|misfire| made(&bench, timing("0 * * * *", "UTC"), misfire));
    let bench = bench.restarted();
    // Back at 18:30: 13:00 to 18:00 are missed.
    bench.clock.advance(6 * 3600 + 1800);
    swept(&bench);
    let [made_up, skipped] = keys.map(|key| of(&bench, key));
    assert_eq!((made_up.fire_count, made_up.missed_count, made_up.last_fire_at), (1, 6, Some(bench.now())));
    assert_eq!((skipped.fire_count, skipped.missed_count, skipped.last_fire_at), (0, 6, None));
    assert_eq!(
        (made_up.seen_to, skipped.seen_to),
        (Some(at("2026-05-01T18:00:00Z")), Some(at("2026-05-01T18:00:00Z")))
    );
    assert_eq!(told(&bench), 1);
    // Sixty seconds late is in time, a moment more is not.
    bench.clock.advance(1800 + 60);
    swept(&bench);
    assert_eq!(keys.map(|key| (of(&bench, key).fire_count, of(&bench, key).missed_count)), [(2, 6), (1, 6)]);
    bench.clock.advance_micros(3_600_000_001);
    swept(&bench);
    assert_eq!(keys.map(|key| (of(&bench, key).fire_count, of(&bench, key).missed_count)), [(3, 7), (1, 7)]);
    assert_sound(&bench);
}

#[test]
fn a_year_away_costs_no_more_than_a_day() {
    let bench = bench_at("2026-05-01T12:00:30Z");
    let keys: Vec<ScheduleKey> =
        (0..100).map(|_| made(&bench, timing("* * * * *", "America/New_York"), Misfire::FireOnce)).collect();
    let bench = bench.restarted();
    bench.clock.advance(365 * DAY);
    let began = std::time::Instant::now();
    swept(&bench);
    let took = began.elapsed();
    for key in keys {
        let schedule = of(&bench, key);
        assert_eq!((schedule.fire_count, schedule.missed_count), (2, 365 * 24 * 60 - 1));
    }
    assert_eq!(told(&bench), 200, "one for all that was missed, one on time");
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
}

#[test]
fn what_passes_while_it_is_paused_is_nobodys() {
    let bench = bench_at("2026-05-01T12:00:30Z");
    let key = made(&bench, timing("* * * * *", "UTC"), Misfire::FireOnce);
    watched(&bench, 3 * MINUTE);
    // What has come by now is fired for before it is paused.
    bench.clock.advance(MINUTE);
    let paused = bench.run(move |tx, now| set_enabled(tx, now, key, false)).unwrap();
    assert_eq!((paused.fire_count, paused.is_enabled, paused.next_fire_at), (4, false, None));
    let again = bench.run(move |tx, now| set_enabled(tx, now, key, false)).unwrap();
    assert_eq!(again, paused);
    assert_sound(&bench);
    bench.clock.advance(DAY);
    swept(&bench);
    let bench = bench.restarted();
    let resumed = bench.run(move |tx, now| set_enabled(tx, now, key, true)).unwrap();
    assert_eq!((resumed.fire_count, resumed.missed_count), (4, 0));
    assert_eq!(next(&bench, key).unwrap(), "2026-05-02T12:05:00.000000Z");
    let again = bench.run(move |tx, now| set_enabled(tx, now, key, true)).unwrap();
    assert_eq!(again, resumed);
    watched(&bench, 2 * MINUTE);
    assert_eq!((of(&bench, key).fire_count, told(&bench)), (6, 6));
    // What was missed before a pause stays missed.
    bench.clock.advance(10 * MINUTE);
    let paused = bench.run(move |tx, now| set_enabled(tx, now, key, false)).unwrap();
    assert_eq!((paused.fire_count, paused.missed_count), (8, 9));
    assert_sound(&bench);
}

#[test]
fn it_fires_from_its_start_on_and_before_its_end() {
    let bench = bench_at("2026-05-01T12:00:00Z");
    let (start_at, end_at) = (Some(at("2026-05-01T12:03:00Z")), Some(at("2026-05-01T12:06:00Z")));
    let key = made(&bench, Timing { start_at, end_at, ..timing("* * * * *", "UTC") }, Misfire::FireOnce);
    watched(&bench, 10 * MINUTE);
    let schedule = of(&bench, key);
    assert_eq!((schedule.fire_count, schedule.missed_count), (3, 0), "12:03, 12:04, 12:05");
    assert_eq!((schedule.next_fire_at, schedule.seen_to), (None, Some(at("2026-05-01T12:05:00Z"))));
    assert_sound(&bench);
    // Enabled again it has nothing to do, which is no mistake; a new end that is over is one.
    bench.run(move |tx, now| set_enabled(tx, now, key, false)).unwrap();
    assert_eq!(bench.run(move |tx, now| set_enabled(tx, now, key, true)).unwrap().next_fire_at, None);
    let over = ScheduleChange { end_at: Some(Some(at("2026-05-01T12:08:00Z"))), ..ScheduleChange::default() };
    assert!(matches!(changed(&bench, key, over), Err(Refusal::NeverFires("end_at", _))));
    let turned = ScheduleChange { end_at: Some(start_at), ..ScheduleChange::default() };
    assert!(matches!(changed(&bench, key, turned), Err(Refusal::Fault(_))));
    let open = ScheduleChange { end_at: Some(None), ..ScheduleChange::default() };
    assert_eq!(changed(&bench, key, open).unwrap().next_fire_at, Some(at("2026-05-01T12:11:00Z")));
    let never = Timing { end_at: Some(bench.now()), ..timing("* * * * *", "UTC") };
    assert!(matches!(try_made(&bench, never, Misfire::Skip), Err(Refusal::NeverFires("end_at", _))));
    // What was missed before the end is made up for after it.
    let soon = Timing { end_at: Some(bench.now().plus_seconds(150)), ..timing("* * * * *", "UTC") };
    let key = made(&bench, soon, Misfire::FireOnce);
    bench.clock.advance(DAY);
    swept(&bench);
    let schedule = of(&bench, key);
    assert_eq!((schedule.fire_count, schedule.missed_count, schedule.next_fire_at), (1, 2, None));
}

#[test]
fn a_new_pattern_holds_from_the_change_on_and_never_goes_back() {
    let bench = bench_at("2026-05-01T12:00:30Z");
    let key = made(&bench, timing("* * * * *", "UTC"), Misfire::FireOnce);
    watched(&bench, 2 * MINUTE);
    bench.clock.advance(45);
    // 12:03 has come by the old pattern, and is fired for.
    let hourly = ScheduleChange { cron: Some("0 * * * *".to_owned()), ..ScheduleChange::default() };
    let schedule = changed(&bench, key, hourly).unwrap();
    assert_eq!((schedule.fire_count, schedule.next_fire_at), (3, Some(at("2026-05-01T13:00:00Z"))));
    assert_sound(&bench);
    let tokyo = ScheduleChange {
        cron: Some("15 9 * * *".to_owned()),
        timezone: Some("Asia/Tokyo".to_owned()),
        ..ScheduleChange::default()
    };
    assert_eq!(changed(&bench, key, tokyo).unwrap().next_fire_at, Some(at("2026-05-02T00:15:00Z")));
    // Its contents follow: another key and payload, another address.
    let webhook = NewWebhook { url: "https://example.org/".to_owned(), secret: Some(secret()) };
    let other =
        ScheduleChange { webhook: Some(webhook), payload: Some(Json::from(7_u64)), ..ScheduleChange::default() };
    let schedule = changed(&bench, key, other).unwrap();
    assert_eq!((schedule.address.url.as_str(), schedule.updated_at), ("https://example.org/", bench.now()));
    let moved = ScheduleChange {
        webhook: Some(NewWebhook { url: "https://example.net/".to_owned(), secret: None }),
        name: Some(Some("n".to_owned())),
        misfire: Some(Misfire::Skip),
        ..ScheduleChange::default()
    };
    let schedule = changed(&bench, key, moved).unwrap();
    assert_eq!((schedule.name.as_deref(), schedule.misfire), (Some("n"), Misfire::Skip));
    let stranger = bench.run(move |tx, now| change(tx, now, (tenant(2), key.1), ScheduleChange::default()));
    assert!(matches!(stranger, Err(Refusal::NoSuch(_))));
    assert_sound(&bench);
}

#[test]
fn there_are_so_many_and_no_more_and_the_operator_sees_them_all() {
    let bench = bench_at("2026-05-01T12:00:00Z");
    let many = |tx: &mut WriteTx<'_>, now| {
        for _ in 0..SCHEDULES_MAX {
            create(tx, now, tenant(1), asked(timing("0 0 1 1 *", "UTC"), Misfire::Skip), &secret())?;
        }
        Ok(())
    };
    bench.run(many).unwrap();
    let one_more = try_made(&bench, timing("0 0 1 1 *", "UTC"), Misfire::Skip);
    assert!(matches!(one_more, Err(Refusal::LimitReached(_, SCHEDULES_MAX))));
    let other =
        bench.run(|tx, now| create(tx, now, tenant(2), asked(timing("1 1 * * *", "UTC"), Misfire::Skip), &secret()));
    let other = other.unwrap().0;
    let all = schedules(&bench.store.read(), None, None, 5_000).unwrap();
    assert_eq!((all.len(), all[1_000].cron.as_str()), (1_001, "1 1 * * *"));
    let behind = schedules(&bench.store.read(), None, Some((tenant(1).0, all[998].schedule_id)), 2).unwrap();
    assert_eq!(behind, all[999..]);
    assert_eq!(schedules(&bench.store.read(), Some(tenant(2).0), None, 5).unwrap(), all[1_000..]);
    bench.run(move |tx, _| remove(tx, (tenant(2), other))).unwrap();
    let first = all[0].schedule_id;
    bench.run(move |tx, _| remove(tx, (tenant(1), crate::model::ScheduleId(first)))).unwrap();
    made(&bench, timing("0 0 1 1 *", "UTC"), Misfire::Skip);
    assert_sound(&bench);
}

#[test]
fn an_erased_tenants_schedules_come_to_rest() {
    let bench = bench_at("2026-05-01T12:00:00Z");
    let key = made(&bench, timing("* * * * *", "UTC"), Misfire::FireOnce);
    bench.run(|tx, now| Ok(seal::destroy(tx, now, KeyOwner::Tenant(tenant(1).0))?)).unwrap();
    bench.clock.advance(MINUTE);
    swept(&bench);
    let schedule = of(&bench, key);
    assert_eq!((schedule.is_enabled, schedule.next_fire_at, told(&bench)), (false, None, 0));
}

#[test]
fn contradictions_are_found() {
    let harmed = |harm: fn(&mut WriteTx<'_>, ScheduleKey, &Schedule)| {
        let bench = bench_at("2026-05-01T12:00:00Z");
        let key = made(&bench, timing("* * * * *", "UTC"), Misfire::FireOnce);
        let harm = move |tx: &mut WriteTx<'_>, _| {
            let schedule = find(tx, key)?.unwrap();
            harm(tx, key, &schedule);
            Ok(())
        };
        bench.run(harm).unwrap();
        crate::verify(&bench.store.read()).unwrap().join("; ")
    };
    let cleared = harmed(|tx, key, schedule| {
        due::clear_fire(tx, schedule.next_fire_at.unwrap(), due::Fire::Schedule(key));
    });
    assert!(cleared.contains("nothing that it waits for"), "{cleared}");
    assert!(harmed(|tx, key, _| tx.delete(&CONTENTS, &key)).contains("has no contents"));
    let lost = harmed(|tx, key, _| tx.delete(&SCHEDULES, &key));
    assert!(
        lost.contains("which is none") && lost.contains("does not say so") && lost.contains("has Counts"),
        "{lost}"
    );
    let uncounted = harmed(|tx, key, _| drop(counts::count(tx, key.0, |counts| counts.schedules += 1)));
    assert!(uncounted.contains("it says Counts"), "{uncounted}");
    let paused = harmed(|tx, key, schedule| {
        let schedule = Schedule { is_enabled: false, ..schedule.clone() };
        tx.put(&SCHEDULES, &key, &(&schedule).into()).unwrap();
    });
    assert!(paused.contains("is paused, and is to fire"), "{paused}");
    let back = harmed(|tx, key, schedule| {
        let schedule = Schedule { seen_to: schedule.next_fire_at, ..schedule.clone() };
        tx.put(&SCHEDULES, &key, &(&schedule).into()).unwrap();
    });
    assert!(back.contains("goes back in time"), "{back}");
    let nowhere = harmed(|tx, key, schedule| {
        let mut schedule = schedule.clone();
        schedule.timing.timezone = "Europe/Nowhere".to_owned();
        tx.put(&SCHEDULES, &key, &(&schedule).into()).unwrap();
    });
    assert!(nowhere.contains("is none"), "{nowhere}");
}

/// The minutes that patterns of the model name, and how they are written.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Every so many minutes of an hour.
    Every(i64),
    /// Once an hour.
    Hourly(i64),
    /// Once a day.
    Daily(i64, i64),
}

impl Pattern {
    fn any(random: &mut fastrand::Rng) -> Pattern {
        match random.u8(0..3) {
            0 => Pattern::Every([1, 2, 5, 7][random.usize(0..4)]),
            1 => Pattern::Hourly(random.i64(0..60)),
            _ => Pattern::Daily(random.i64(0..24), random.i64(0..60)),
        }
    }

    fn text(self) -> String {
        match self {
            Pattern::Every(step) => format!("*/{step} * * * *"),
            Pattern::Hourly(minute) => format!("{minute} * * * *"),
            Pattern::Daily(hour, minute) => format!("{minute} {hour} * * *"),
        }
    }

    /// Whether it names this minute since 1970.
    fn names(self, minute: i64) -> bool {
        match self {
            Pattern::Every(step) => minute.rem_euclid(60) % step == 0,
            Pattern::Hourly(wanted) => minute.rem_euclid(60) == wanted,
            Pattern::Daily(hour, wanted) => minute.rem_euclid(24 * 60) == hour * 60 + wanted,
        }
    }
}

/// A schedule as it ought to be. It looks at every minute.
#[derive(Clone, Debug)]
struct Model {
    pattern: Pattern,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    misfire: Misfire,
    is_enabled: bool,
    /// Up to here every instant was seen to, or was nobody's.
    seen: Timestamp,
    fires: u64,
    missed: u64,
}

impl Model {
    /// Sees to all that has come, if it is on.
    fn see_to(&mut self, now: Timestamp) {
        let minute_of = |at: Timestamp| at.as_micros().div_euclid(60_000_000);
        let (mut missed, mut on_time) = (0, 0);
        if self.is_enabled {
            for minute in minute_of(self.seen)..=minute_of(now) {
                let at = Timestamp::from_micros(minute * 60_000_000);
                let is_within = self.start_at.is_none_or(|start| at >= start) && self.end_at.is_none_or(|end| at < end);
                if at <= self.seen || at > now || !is_within || !self.pattern.names(minute) {
                    continue;
                }
                if now.micros_since(at) > 60_000_000 { missed += 1 } else { on_time += 1 }
            }
        }
        self.missed += missed;
        self.fires += on_time + u64::from(missed > 0 && self.misfire == Misfire::FireOnce);
        self.seen = now;
    }
}

#[test]
fn whatever_happens_it_does_as_a_model_that_goes_from_minute_to_minute() {
    let seed =
        std::env::var("QUINTET_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    for case in 0..12 {
        let mut bench = bench();
        bench.clock.advance_micros(random.i64(0..DAY * 1_000_000));
        let mut told_in_all = 0;
        let bound = |random: &mut fastrand::Rng, now: Timestamp| {
            random.bool().then(|| now.plus_seconds(random.i64(1..2 * DAY)).plus_micros(random.i64(0..2)))
        };
        let mut model = Model {
            pattern: Pattern::any(&mut random),
            start_at: bound(&mut random, bench.now()),
            end_at: None,
            misfire: if random.bool() { Misfire::FireOnce } else { Misfire::Skip },
            is_enabled: true,
            seen: bench.now(),
            fires: 0,
            missed: 0,
        };
        let start = Timing { start_at: model.start_at, ..timing(&model.pattern.text(), "UTC") };
        let key = made(&bench, start, model.misfire);
        let mut last_seen = None;
        for step in 0..40 {
            let what = random.u8(0..10);
            match what {
                // The clock goes on, while somebody looks, or while nobody does.
                0..=3 => {
                    bench.clock.advance_micros(random.i64(0..3 * 60_000_000));
                    swept(&bench);
                    model.see_to(bench.now());
                }
                4 => {
                    for _ in 0..random.usize(1..90) {
                        bench.clock.advance(MINUTE);
                        swept(&bench);
                        model.see_to(bench.now());
                    }
                }
                5 => bench.clock.advance(random.i64(0..3 * DAY)),
                6 => bench = bench.restarted(),
                7 => {
                    let is_enabled = random.bool();
                    if is_enabled != model.is_enabled {
                        model.see_to(bench.now());
                        model.is_enabled = is_enabled;
                    }
                    bench.run(move |tx, now| set_enabled(tx, now, key, is_enabled)).unwrap();
                }
                8 => {
                    let (mut wanted, mut asked) = (model.clone(), ScheduleChange::default());
                    wanted.see_to(bench.now());
                    if random.bool() {
                        wanted.pattern = Pattern::any(&mut random);
                        asked.cron = Some(wanted.pattern.text());
                    }
                    if random.bool() {
                        wanted.misfire = if random.bool() { Misfire::FireOnce } else { Misfire::Skip };
                        asked.misfire = Some(wanted.misfire);
                    }
                    if random.bool() {
                        wanted.end_at = bound(&mut random, bench.now());
                        asked.end_at = Some(wanted.end_at);
                    }
                    // What leaves nothing to fire at, or ends before it starts, is refused and changes nothing.
                    match changed(&bench, key, asked) {
                        Ok(_) => model = wanted,
                        Err(refusal) => assert!(model.end_at.or(wanted.end_at).is_some(), "{refusal:?}"),
                    }
                }
                _ => {
                    swept(&bench);
                    model.see_to(bench.now());
                }
            }
            let (schedule, said) = (of(&bench, key), format!("QUINTET_SEED={seed}, case {case}, step {step}: {what}"));
            let found = (schedule.fire_count, schedule.missed_count, schedule.is_enabled);
            assert_eq!(found, (model.fires, model.missed, model.is_enabled), "{said}: {model:?} {schedule:?}");
            assert!(schedule.seen_to >= last_seen, "{said}: it went back");
            last_seen = schedule.seen_to;
            assert!(told(&bench) >= told_in_all, "{said}");
            told_in_all = told(&bench);
            assert_eq!(told_in_all, schedule.fire_count, "{said}: each fire is told of once");
            assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new(), "{said}");
        }
    }
}

/// Nothing is told for a tenant that is suspended; when it is active again, what was missed is not made up for.
#[test]
fn a_suspended_tenant_has_its_instants_pass() {
    let bench = bench_at("2026-05-01T12:00:30Z");
    let new = CreateTenant { id: Some(tenant(1).0), name: "A".to_owned(), services: Services::ALL, parent: None };
    bench.run(move |tx, now| Ok(create_tenant(tx, now, new).map_err(not_refused)?)).unwrap();
    let key = made(&bench, timing("* * * * *", "UTC"), Misfire::FireOnce);
    watched(&bench, 3 * MINUTE);
    bench.run(|tx, now| Ok(suspend_tenant(tx, now, tenant(1).0).map_err(not_refused)?)).unwrap();
    watched(&bench, 5 * MINUTE);
    assert_eq!((of(&bench, key).fire_count, of(&bench, key).missed_count, told(&bench)), (3, 5, 3));
    assert_sound(&bench);
    bench.run(|tx, now| Ok(activate_tenant(tx, now, tenant(1).0).map_err(not_refused)?)).unwrap();
    watched(&bench, 2 * MINUTE);
    assert_eq!((of(&bench, key).fire_count, of(&bench, key).missed_count, told(&bench)), (5, 5, 5));
}

/// Where a day has been used up, instants pass as missed until the next one begins.
#[test]
fn instants_beyond_what_a_day_has_are_missed() {
    let bench = bench_at("2026-05-01T23:50:30Z");
    let key = made(&bench, timing("* * * * *", "UTC"), Misfire::FireOnce);
    bench.run(|tx, now| Ok(counts::charge(tx, now, tenant(1), counts::TOLD_OF_DAY_MAX - 2)?)).unwrap();
    watched(&bench, 9 * MINUTE);
    assert_eq!((of(&bench, key).fire_count, of(&bench, key).missed_count, told(&bench)), (2, 7, 2));
    watched(&bench, 3 * MINUTE);
    assert_eq!((of(&bench, key).fire_count, of(&bench, key).missed_count, told(&bench)), (5, 7, 5));
    assert_sound(&bench);
}

fn not_refused(abort: Abort<AccessRefusal>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(refusal) => panic!("{refusal}"),
    }
}
