//! A model that goes by minutes: it looks at what a clock on the wall shows, minute after minute, and at each field.
//!
//! `QUINTET_CRON_SEED` runs one zone's patterns again; `QUINTET_CRON_YEARS=N` has it go through each minute of N years of
//! its zones, and of the changes of all zones there are (`make cron-long`).

use fastrand::Rng;
use jiff::Timestamp as Instant;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use quintet_storage::Timestamp;

use super::fires;
use crate::recurrence::{Cron, CronError, Recurrence};
use crate::zones::Zone;

const ZONES: [&str; 17] = [
    "UTC",
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Ciudad_Juarez",
    "America/Havana",
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Gaza",
    "Asia/Kolkata",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Apia",
    "Pacific/Kiritimati",
];

const YEARS: i16 = 30;
const FIRST_YEAR: i16 = 2010;
const DAY: i64 = 24 * 60;
/// So long before the first minute it asks about does the model begin to watch.
const WATCHED_BEFORE: i64 = 3 * DAY;
/// How many patterns are tried in each zone.
const PATTERNS: usize = 20;

/// A field: its values, and whether its text begins with `*`.
struct Values {
    named: Vec<bool>,
    star: bool,
}

/// A pattern as the model knows it, and as it is written.
struct Pattern {
    text: String,
    minute: Values,
    hour: Values,
    day: Values,
    month: Values,
    weekday: Values,
}

impl Pattern {
    fn names(&self, local: DateTime) -> bool {
        let holds = |values: &Values, value: i8| values.named[usize::try_from(value).unwrap()];
        if !holds(&self.minute, local.minute()) || !holds(&self.hour, local.hour()) {
            return false;
        }
        self.names_day(local)
    }

    fn names_day(&self, local: DateTime) -> bool {
        let holds = |values: &Values, value: i8| values.named[usize::try_from(value).unwrap()];
        let by_month = holds(&self.day, local.day());
        let weekday = local.weekday().to_sunday_zero_offset();
        let by_week = holds(&self.weekday, weekday) || (weekday == 0 && holds(&self.weekday, 7));
        let both_needed = self.day.star || self.weekday.star;
        holds(&self.month, local.month()) && if both_needed { by_month && by_week } else { by_month || by_week }
    }

    fn fixed(&self) -> bool {
        !self.minute.star && !self.hour.star
    }
}

/// A field at random: its text and its values, which are made apart from each other.
fn field(rng: &mut Rng, first: usize, last: usize, likely: &[usize], names: &[&str]) -> (String, Values) {
    let mut named = vec![false; last + 1];
    let mut items = Vec::new();
    let write = |rng: &mut Rng, value: usize| match names.get(value - first) {
        Some(name) if rng.bool() => {
            if rng.bool() {
                name.to_uppercase()
            } else {
                (*name).to_owned()
            }
        }
        _ => value.to_string(),
    };
    for _ in 0..[1, 1, 1, 2, 3][rng.usize(..5)] {
        let value = if rng.bool() { likely[rng.usize(..likely.len())] } else { rng.usize(first..=last) };
        let (low, high, mut item) = match rng.u8(..6) {
            0 | 1 => (first, last, "*".to_owned()),
            2 => {
                let high = rng.usize(value..=last);
                (value, high, format!("{}-{}", write(rng, value), write(rng, high)))
            }
            _ => (value, value, write(rng, value)),
        };
        let mut step = 1;
        if (item == "*" || item[1..].contains('-')) && rng.bool() {
            step = rng.usize(1..=last + 2);
            item += &format!("/{step}");
        }
        let mut value = low;
        while value <= high {
            named[value] = true;
            value += step;
        }
        items.push(item);
    }
    let text = items.join(",");
    let star = text.starts_with('*');
    (text, Values { named, star })
}

/// A field that names everything, more often than not.
fn wide_field(rng: &mut Rng, first: usize, last: usize, names: &[&str]) -> (String, Values) {
    if rng.u8(..5) < 3 {
        return ("*".to_owned(), Values { named: vec![true; last + 1], star: true });
    }
    field(rng, first, last, &[first, last], names)
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A pattern that fires, with what the product makes of it; most often about the hours at which clocks change.
fn pattern(rng: &mut Rng) -> (Pattern, Cron) {
    loop {
        let (minute_text, minute) = field(rng, 0, 59, &[0, 1, 15, 30, 45, 59], &[]);
        let (hour_text, hour) = field(rng, 0, 23, &[0, 1, 2, 3, 23], &[]);
        let (day_text, day) = wide_field(rng, 1, 31, &[]);
        let (month_text, month) = wide_field(rng, 1, 12, MONTHS);
        let (weekday_text, weekday) = wide_field(rng, 0, 7, WEEKDAYS);
        let blank = ["\t", "  ", " "][rng.usize(..3)];
        let text = [minute_text, hour_text, day_text, month_text, weekday_text].join(blank);
        let pattern = Pattern { text, minute, hour, day, month, weekday };
        match Cron::parse(&pattern.text) {
            Ok(cron) => return (pattern, cron),
            Err(CronError::NeverFires { .. }) => {
                let day = |day: i64| local_of(day * DAY);
                let fires = (0..146_097).map(day).find(|local| pattern.names_day(*local));
                assert_eq!(fires, None, "{}", pattern.text);
            }
            Err(error) => panic!("{}: {error}", pattern.text),
        }
    }
}

/// What a clock shows so many minutes after it showed 1970-01-01T00:00.
fn local_of(minute: i64) -> DateTime {
    Offset::UTC.to_datetime(Instant::from_second(minute * 60).unwrap())
}

/// The fires of each pattern from one minute (since 1970 in UTC) on and before another, in minutes.
fn walk(zone: &TimeZone, from: i64, until: i64, patterns: &[(Pattern, Cron)]) -> Vec<Vec<i64>> {
    let mut fires = vec![Vec::new(); patterns.len()];
    // The local minutes of the last days that were shown or left out, each in its place.
    let mut seen = vec![i64::MIN; 8192];
    let place = |local: i64| usize::try_from(local.rem_euclid(8192)).unwrap();
    let mut shown_last = None;
    for minute in from - WATCHED_BEFORE..until {
        let instant = Instant::from_second(minute * 60).unwrap();
        let offset = zone.to_offset(instant);
        assert_eq!(offset.seconds() % 60, 0, "the model knows whole minutes alone");
        let local = minute + i64::from(offset.seconds() / 60);
        let shows = offset.to_datetime(instant);
        let left_out = shown_last.map_or(local, |last| last + 1)..local;
        let first_time = seen[place(local)] != local;
        for ((pattern, _), fires) in patterns.iter().zip(&mut fires) {
            let mut fires_now = pattern.names(shows) && (first_time || !pattern.fixed());
            if pattern.fixed() {
                let mut new = left_out.clone().filter(|missed| seen[place(*missed)] != *missed);
                fires_now = fires_now || new.any(|missed| pattern.names(local_of(missed)));
            }
            if fires_now && minute >= from {
                fires.push(minute);
            }
        }
        for local in left_out.start.min(local)..=local {
            seen[place(local)] = local;
        }
        shown_last = Some(local);
    }
    fires
}

/// Holds the product against the model from one minute on and before another; how many fires there were.
fn compare(name: &str, from: i64, until: i64, patterns: &[(Pattern, Cron)], rng: &mut Rng) -> usize {
    let database = TimeZoneDatabase::bundled();
    let zone = database.get(name).unwrap();
    let instant = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
    let mut count = 0;
    for ((pattern, cron), minutes) in patterns.iter().zip(walk(&zone, from, until, patterns)) {
        let expected: Vec<Timestamp> = minutes.into_iter().map(instant).collect();
        let about = format!("`{}` in {name}, from {:?} on", pattern.text, local_of(from));
        let recurrence = Recurrence::new(cron.clone(), Zone::named(name).unwrap());
        let (before, last) = (instant(from).plus_micros(-1), instant(until).plus_micros(-1));
        assert_eq!(recurrence.count_between(before, last), expected.len() as u64, "{about}");
        count += expected.len();
        // What is looked at from everywhere need not be walked through.
        if expected.len() < 200 {
            assert_eq!(fires(&recurrence, before, last), expected, "{about}");
        }
        let mut looked_at: Vec<Timestamp> = (0..24).map(|_| instant(from + rng.i64(0..until - from))).collect();
        looked_at.extend((0..6).filter_map(|_| rng.choice(&expected)).copied());
        for at in looked_at.into_iter().map(|at| at.plus_micros([0, 0, 1, -1, 60_000_000][rng.usize(..5)])) {
            let at = at.clamp(before, last);
            let passed = expected.partition_point(|fire| *fire <= at);
            let (latest, next) = (recurrence.latest_at_or_before(at), recurrence.next_after(at));
            let (latest, next) = (latest.filter(|fire| *fire > before), next.filter(|fire| *fire <= last));
            assert_eq!(next.as_ref(), expected.get(passed), "{about}, next after {at:?}");
            assert_eq!(latest.as_ref(), expected[..passed].last(), "{about}, latest at {at:?}");
            assert_eq!(recurrence.count_between(before, at), passed as u64, "{about}, up to {at:?}");
            assert_eq!(recurrence.count_between(at, last), (expected.len() - passed) as u64, "{about}, after {at:?}");
        }
    }
    count
}

/// The first minute of a year, in UTC.
fn year(number: i16) -> i64 {
    Offset::UTC.to_timestamp(jiff::civil::date(number, 1, 1).at(0, 0, 0, 0)).unwrap().as_second() / 60
}

/// When a zone's clocks change in those years, in minutes.
fn changes(name: &str) -> Vec<i64> {
    let zone = TimeZoneDatabase::bundled().get(name).unwrap();
    let from = Instant::from_second(year(FIRST_YEAR) * 60).unwrap();
    let all = zone.following(from).map(|change| change.timestamp().as_second() / 60);
    all.take_while(|minute| *minute < year(FIRST_YEAR + YEARS)).collect()
}

/// Runs a case for each zone; says which one failed.
fn for_each(zones: &[&str], case: impl Fn(&str, &mut Rng) -> usize) -> usize {
    let given = std::env::var("QUINTET_CRON_SEED").map(|seed| seed.parse().unwrap());
    let first = given.unwrap_or_else(|_| fastrand::u64(..));
    let run = |zone: &&str| {
        let run = std::panic::AssertUnwindSafe(|| case(zone, &mut Rng::with_seed(first)));
        std::panic::catch_unwind(run).unwrap_or_else(|panic| {
            eprintln!("run it again with QUINTET_CRON_SEED={first}");
            std::panic::resume_unwind(panic);
        })
    };
    zones.iter().map(run).sum()
}

fn around_changes(name: &str, rng: &mut Rng) -> usize {
    let patterns: Vec<_> = (0..PATTERNS).map(|_| pattern(rng)).collect();
    changes(name).iter().map(|change| compare(name, change - 30 * 60, change + 30 * 60, &patterns, rng)).sum()
}

#[test]
fn around_each_change_of_thirty_years() {
    let all = TimeZoneDatabase::bundled();
    let all: Vec<String> = all.available().map(|name| name.to_string()).filter(|name| name.contains('/')).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let long = std::env::var_os("QUINTET_CRON_YEARS").is_some();
    let zones = if long { all.as_slice() } else { &ZONES };
    let count = for_each(zones, around_changes);
    println!("{count} fires about the changes of {} zones", zones.len());
    assert!(count > 100_000, "only {count} fires");
}

#[test]
fn minute_by_minute() {
    let years: Option<i16> = std::env::var("QUINTET_CRON_YEARS").ok().map(|years| years.parse().unwrap());
    let count = for_each(&ZONES, |name, rng| {
        let patterns: Vec<_> = (0..PATTERNS).map(|_| pattern(rng)).collect();
        let first = years.map_or_else(|| rng.i16(FIRST_YEAR..FIRST_YEAR + YEARS), |_| FIRST_YEAR);
        compare(name, year(first), year(first + years.unwrap_or(1)), &patterns, rng)
    });
    println!("{count} fires in all minutes of {} years of {} zones", years.unwrap_or(1), ZONES.len());
    assert!(count > 100_000, "only {count} fires");
}
