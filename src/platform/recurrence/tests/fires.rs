//! Cases by hand: changes of clocks, days of two kinds, counting, the ends of time.

use super::{at, fires, recurrence, text};
use crate::recurrence::Cron;

/// A pattern, a zone, from when until when, and the fires after the one and up to the other.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Berlin's clocks go from 02:00 to 03:00 on 2026-03-29, at 01:00 UTC, and from 03:00 to 02:00 on 2026-10-25, at 01:00.
    // Fixed, in the gap: once just after it.
    ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-31T00:00:00Z", &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
    ("0 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:00:00Z"]),
    ("0,20,40 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:00:00Z"]),
    ("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:00:00Z"]),
    ("30 1-3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]),
    // What is beside the gap is not in it.
    ("59 1 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T00:59:00Z"]),
    ("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:00:00Z"]),
    ("1 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:01:00Z"]),
    // On another day, nothing is left out.
    ("30 2 30 * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-31T00:00:00Z", &["2026-03-30T00:30:00Z"]),
    // Fixed, in the overlap: once, at first.
    ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
    ("0 2,3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z", &["2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"]),
    ("0,59 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:00:00Z", &["2026-10-25T00:59:00Z", "2026-10-26T01:00:00Z"]),
    // By the time that passes.
    ("0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", "2026-03-29T02:00:00Z", &["2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]),
    ("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", "2026-10-25T02:00:00Z", &["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]),
    ("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z", &["2026-03-30T00:00:00Z"]),
    ("*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z", &["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"]),
    ("30 */2 * * *", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T03:00:00Z", &["2026-03-28T23:30:00Z", "2026-03-29T02:30:00Z"]),
    ("30 */2 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z", &["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]),
    // All hours by number are fixed, and the list that does not begin with `*` is.
    ("30 0-23 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z", &["2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"]),
    ("30 1,* * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z", &["2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"]),
    ("30 *,1 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z", &["2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"]),
    // New York: 2026-03-08 at 07:00 UTC forward, 2026-11-01 at 06:00 UTC back.
    ("@daily", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-10T00:00:00Z", &["2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"]),
    ("15 2 * * sun", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-16T00:00:00Z", &["2026-03-08T07:00:00Z", "2026-03-15T06:15:00Z"]),
    ("15 1 * * sun", "America/New_York", "2026-10-31T12:00:00Z", "2026-11-09T00:00:00Z", &["2026-11-01T05:15:00Z", "2026-11-08T06:15:00Z"]),
    // Lord Howe: half an hour. 2026-04-04 at 15:00 UTC from 02:00 (+11) to 01:30 (+10:30), 2026-10-03 at 15:30 UTC from 02:00 to 02:30.
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-05T16:00:00Z", &["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"]),
    ("*/15 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:20:00Z", "2026-04-04T16:00:00Z", &["2026-04-04T14:30:00Z", "2026-04-04T14:45:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:15:00Z"]),
    ("15,45 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T18:00:00Z", &["2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z"]),
    // Kolkata: half an hour beside UTC, and no changes.
    ("0 0 1 1 *", "Asia/Kolkata", "2026-12-01T00:00:00Z", "2028-01-01T00:00:00Z", &["2026-12-31T18:30:00Z", "2027-12-31T18:30:00Z"]),
    // Apia had no 2011-12-30: at 10:00 UTC its clocks went from 00:00 that day to 00:00 on the next.
    ("0 9 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z", &["2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31T19:00:00Z"]),
    ("0 9 30 12 *", "Pacific/Apia", "2010-12-31T00:00:00Z", "2013-01-01T00:00:00Z", &["2011-12-30T10:00:00Z", "2012-12-29T19:00:00Z"]),
    ("@daily", "Pacific/Apia", "2011-12-29T00:00:00Z", "2011-12-31T12:00:00Z", &["2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"]),
    ("0 */8 * * fri", "Pacific/Apia", "2011-12-23T12:00:00Z", "2012-01-06T00:00:00Z", &["2011-12-23T18:00:00Z", "2011-12-24T02:00:00Z", "2012-01-05T10:00:00Z", "2012-01-05T18:00:00Z"]),
    // Kwajalein left out 1993-08-21: from UTC-12 to UTC+12.
    ("0 12 * * *", "Pacific/Kwajalein", "1993-08-20T12:00:00Z", "1993-08-22T12:00:00Z", &["1993-08-21T00:00:00Z", "1993-08-21T12:00:00Z", "1993-08-22T00:00:00Z"]),
    // São Paulo: midnight was left out on 2018-11-04, and 23:00 came twice on 2018-02-17.
    ("@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T12:00:00Z", &["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"]),
    ("0 23 17 2 *", "America/Sao_Paulo", "2018-01-01T00:00:00Z", "2018-12-31T00:00:00Z", &["2018-02-18T01:00:00Z"]),
    ("59 23 * * sat", "America/Sao_Paulo", "2018-02-17T12:00:00Z", "2018-02-18T12:00:00Z", &["2018-02-18T01:59:00Z"]),
    // Havana goes back from 01:00 to 00:00: midnight comes twice within one day.
    ("@daily", "America/Havana", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z", &["2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"]),
    ("@hourly", "America/Havana", "2026-11-01T03:30:00Z", "2026-11-01T06:00:00Z", &["2026-11-01T04:00:00Z", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"]),
    // Troll: two hours at once, 2026-03-29 at 01:00 UTC from 01:00 to 03:00.
    ("30 1,2 * * *", "Antarctica/Troll", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", &["2026-03-29T01:00:00Z"]),
    // Dublin's winter is its daylight saving time, with an offset that is less; the fires know nothing of it.
    ("30 1 * * *", "Europe/Dublin", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
    // Casablanca goes back for Ramadan: 2025-02-23 at 02:00 UTC from 03:00 to 02:00.
    ("30 2 * * *", "Africa/Casablanca", "2025-02-22T12:00:00Z", "2025-02-24T12:00:00Z", &["2025-02-23T01:30:00Z", "2025-02-24T02:30:00Z"]),
    // Juárez stayed at UTC-6 on 2022-11-06, and went to UTC-7 on 2022-11-30, at 06:00 UTC.
    ("30 23 6,29 11 *", "America/Ciudad_Juarez", "2022-11-01T00:00:00Z", "2022-12-01T00:00:00Z", &["2022-11-07T05:30:00Z", "2022-11-30T05:30:00Z"]),
    ("30 23 * * *", "America/Ciudad_Juarez", "2022-11-29T12:00:00Z", "2022-12-02T00:00:00Z", &["2022-11-30T05:30:00Z", "2022-12-01T06:30:00Z"]),
    // Monrovia's clocks were at -00:44:30 until 1972-01-07: there, minutes began on a half.
    ("0 12 * * *", "Africa/Monrovia", "1972-01-05T12:44:30Z", "1972-01-08T12:00:00Z", &["1972-01-06T12:44:30Z", "1972-01-07T12:00:00Z", "1972-01-08T12:00:00Z"]),
    ("10 0 * * *", "Africa/Monrovia", "1972-01-06T00:00:00Z", "1972-01-08T12:00:00Z", &["1972-01-06T00:54:30Z", "1972-01-07T00:44:30Z", "1972-01-08T00:10:00Z"]),
    // Days: by either field where both are named, by both where one begins with `*`.
    ("0 0 13 * fri", "UTC", "2027-08-01T00:00:00Z", "2027-08-28T00:00:00Z", &["2027-08-06T00:00:00Z", "2027-08-13T00:00:00Z", "2027-08-20T00:00:00Z", "2027-08-27T00:00:00Z"]),
    ("0 0 12 * fri", "UTC", "2027-08-01T00:00:00Z", "2027-08-20T00:00:00Z", &["2027-08-06T00:00:00Z", "2027-08-12T00:00:00Z", "2027-08-13T00:00:00Z", "2027-08-20T00:00:00Z"]),
    ("0 0 */2 * fri", "UTC", "2027-08-01T00:00:00Z", "2027-08-31T00:00:00Z", &["2027-08-13T00:00:00Z", "2027-08-27T00:00:00Z"]),
    ("0 0 13 * */5", "UTC", "2027-01-01T00:00:00Z", "2027-12-31T00:00:00Z", &["2027-06-13T00:00:00Z", "2027-08-13T00:00:00Z"]),
    ("0 0 * * 7", "UTC", "2027-08-01T00:00:00Z", "2027-08-15T00:00:00Z", &["2027-08-08T00:00:00Z", "2027-08-15T00:00:00Z"]),
    ("0 0 31 * *", "UTC", "2027-01-31T00:00:00Z", "2027-07-31T00:00:00Z", &["2027-03-31T00:00:00Z", "2027-05-31T00:00:00Z", "2027-07-31T00:00:00Z"]),
    ("0 0 29 2 *", "UTC", "2095-01-01T00:00:00Z", "2110-01-01T00:00:00Z", &["2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z"]),
    ("0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z", "2130-01-01T00:00:00Z", &["2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z", "2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"]),
    ("0 0 29 2 1", "UTC", "2028-02-20T00:00:00Z", "2028-03-31T00:00:00Z", &["2028-02-21T00:00:00Z", "2028-02-28T00:00:00Z", "2028-02-29T00:00:00Z"]),
    ("5-55/25 9-17/4 1 mar-may/2 *", "UTC", "2027-03-01T12:00:00Z", "2027-05-01T09:30:00Z", &["2027-03-01T13:05:00Z", "2027-03-01T13:30:00Z", "2027-03-01T13:55:00Z", "2027-03-01T17:05:00Z", "2027-03-01T17:30:00Z", "2027-03-01T17:55:00Z", "2027-05-01T09:05:00Z", "2027-05-01T09:30:00Z"]),
];

#[test]
fn fires_are_where_they_belong() {
    for (pattern, zone, after, until, expected) in CASES {
        let case = format!("{pattern} in {zone} after {after}");
        let recurrence = recurrence(pattern, zone);
        let (after, until) = (at(after), at(until));
        let found = fires(&recurrence, after, until);
        assert_eq!(found.iter().copied().map(text).collect::<Vec<_>>(), *expected, "{case}");
        assert_eq!(recurrence.count_between(after, until), found.len() as u64, "{case}");
        let before = |fire| recurrence.latest_at_or_before(fire).filter(|fire| *fire > after);
        let back = std::iter::successors(before(until), |fire| before(fire.plus_micros(-1)));
        let mut back: Vec<_> = back.collect();
        back.reverse();
        assert_eq!(back, found, "{case}, backwards");
    }
}

#[test]
fn a_fire_is_after_and_at() {
    let daily = recurrence("@daily", "UTC");
    let (monday, tuesday) = (at("2027-08-02T00:00:00Z"), at("2027-08-03T00:00:00Z"));
    assert_eq!(daily.next_after(monday), Some(tuesday));
    assert_eq!(daily.next_after(monday.plus_micros(-1)), Some(monday));
    assert_eq!(daily.next_after(monday.plus_micros(1)), Some(tuesday));
    assert_eq!(daily.latest_at_or_before(tuesday), Some(tuesday));
    assert_eq!(daily.latest_at_or_before(tuesday.plus_micros(1)), Some(tuesday));
    assert_eq!(daily.latest_at_or_before(tuesday.plus_micros(-1)), Some(monday));
    assert_eq!(daily.count_between(monday, tuesday), 1);
    assert_eq!(daily.count_between(monday.plus_micros(-1), tuesday), 2);
    assert_eq!(daily.count_between(monday.plus_micros(-1), tuesday.plus_micros(-1)), 1);
    assert_eq!(daily.count_between(monday, monday), 0);
    assert_eq!(daily.count_between(tuesday, monday), 0);
}

#[test]
fn time_has_ends() {
    let minutes = recurrence("* * * * *", "Pacific/Auckland");
    let (first, last) = (at("0001-01-01T00:00:04Z"), at("9999-12-30T22:00:00Z"));
    // Auckland's clocks were 11:39:04 ahead of UTC.
    let (none_before, none_after) = (at("-009999-01-02T01:59:59Z"), last.plus_seconds(1));
    assert_eq!(minutes.next_after(none_before).map(text), Some("0001-01-01T00:00:56Z".to_owned()));
    assert_eq!(minutes.latest_at_or_before(first), None);
    assert_eq!(minutes.next_after(last), None);
    assert_eq!(minutes.latest_at_or_before(none_after), Some(last));
    for (from, until) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MIN, i64::MIN), (i64::MAX, i64::MAX)] {
        let (from, until) =
            (quintet_storage::Timestamp::from_micros(from), quintet_storage::Timestamp::from_micros(until));
        let all = minutes.count_between(from, until);
        assert_eq!(all > 0, from < until);
        assert_eq!(minutes.next_after(from).is_some(), from < first);
        assert_eq!(minutes.latest_at_or_before(until).is_some(), until > last);
    }
    let years = 9999 * 146_097 / 400 * 24 * 60;
    let all = minutes.count_between(none_before, none_after);
    assert!(all.abs_diff(years) < 5 * 24 * 60, "{all} minutes, and not about {years}");
}

#[test]
fn years_are_counted_at_once() {
    let (after, until) = (at("1996-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"));
    let minutes = 10_958 * 24 * 60;
    for zone in ["UTC", "Europe/Berlin", "Pacific/Apia", "Africa/Casablanca"] {
        assert_eq!(recurrence("* * * * *", zone).count_between(after, until), minutes, "{zone}");
        // Once for each local day, and for the one that Apia left out at the beginning of the next.
        let local_days = if zone == "Pacific/Apia" { 10_958 + 1 } else { 10_958 };
        assert_eq!(recurrence("30 12 * * *", zone).count_between(after, until), local_days, "{zone}");
    }
    // All minutes by number: what is left out fires once, with the minute after it.
    let fixed = recurrence("0-59 0-23 * * *", "Europe/Berlin");
    assert_eq!(fixed.count_between(after, until), minutes - 30 * 60);
}

#[test]
fn patterns_compare_by_what_they_name() {
    assert_eq!(Cron::parse("0 0 * * 0").unwrap(), Cron::parse("0 0 * * sun").unwrap());
    assert_ne!(recurrence("0 0 * * 0", "UTC"), recurrence("0 0 * * 0", "Europe/Berlin"));
}
