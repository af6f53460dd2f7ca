//! When a reminder that repeats is due again: pure rules.

use bincode::{Decode, Encode};
use quintet_platform::recurrence::{Cron, Recurrence};
use quintet_platform::zones::Zone;
use quintet_storage::Timestamp;

const SECOND_MICROS: i64 = 1_000_000;
const MINUTE_MICROS: i64 = 60 * SECOND_MICROS;
/// Every month has so many days; later ones are the last one of months that are shorter.
const SHORTEST_MONTH: i8 = 28;

/// By what a reminder is due again.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct Rule {
    /// `daily`, `weekly`, `monthly`, or a pattern of five fields.
    pub(super) repeat: String,
    /// The name of the time zone it is meant in.
    pub(super) timezone: String,
    /// What the three words repeat: the clock's time, the weekday, the day of the month of this instant.
    pub(super) anchor: Timestamp,
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoRule {
    /// It is no word and no pattern; why.
    Repeat(String),
    /// There is no such time zone.
    Timezone,
}

/// What a rule means.
struct Plan {
    recurrence: Recurrence,
    zone: Zone,
    /// How far behind the minute it is due.
    offset_micros: i64,
    /// The day of the month that it means, where the pattern says more.
    day: Option<i8>,
}

impl Rule {
    /// The first instant after another at which it is due. `None`: there is none before the year 10,000.
    ///
    /// # Errors
    /// It is no rule; of a stored one: the database of time zones knows its zone no more.
    pub(super) fn next_after(&self, after: Timestamp) -> Result<Option<Timestamp>, NoRule> {
        let plan = self.plan()?;
        let mut from = after.plus_micros(-plan.offset_micros);
        loop {
            let Some(minute) = plan.recurrence.next_after(from) else { return Ok(None) };
            if plan.is_meant(minute) {
                return Ok(Some(minute.plus_micros(plan.offset_micros)));
            }
            from = minute;
        }
    }

    fn plan(&self) -> Result<Plan, NoRule> {
        let zone = Zone::named(&self.timezone).ok_or(NoRule::Timezone)?;
        let local = zone.local(self.anchor.as_micros().div_euclid(SECOND_MICROS));
        let (minute, hour, day) = (local.minute(), local.hour(), local.day());
        let is_late = day > SHORTEST_MONTH;
        let pattern = match self.repeat.as_str() {
            "daily" => format!("{minute} {hour} * * *"),
            "weekly" => format!("{minute} {hour} * * {}", local.weekday().to_sunday_zero_offset()),
            "monthly" if is_late => format!("{minute} {hour} {SHORTEST_MONTH}-31 * *"),
            "monthly" => format!("{minute} {hour} {day} * *"),
            pattern => pattern.to_owned(),
        };
        let is_word = pattern != self.repeat;
        let cron = Cron::parse(&pattern).map_err(|error| NoRule::Repeat(error.to_string()))?;
        Ok(Plan {
            recurrence: Recurrence::new(cron, zone.clone()),
            zone,
            offset_micros: if is_word { self.anchor.as_micros().rem_euclid(MINUTE_MICROS) } else { 0 },
            day: if is_word && is_late && self.repeat == "monthly" { Some(day) } else { None },
        })
    }
}

impl Plan {
    /// Whether an instant of the pattern is one of the rule: on the day that it means, or on the last one of a month that is
    /// too short for it.
    fn is_meant(&self, minute: Timestamp) -> bool {
        let Some(day) = self.day else { return true };
        let local = self.zone.local(minute.as_micros().div_euclid(SECOND_MICROS));
        local.day() == day.min(local.date().days_in_month())
    }
}

/// The instant at which the clocks of a zone show what a text says without an offset: `2026-08-22 09:00`, with a blank or a
/// `T`, with seconds or without. Of two such instants the first; of a time that is left out, the same time after the change.
pub(super) fn naive_instant(text: &str, zone: &Zone) -> Option<Timestamp> {
    let shape = |(place, char): (usize, char)| match place {
        4 | 7 => char == '-',
        10 => matches!(char, ' ' | 'T' | 't'),
        13 | 16 => char == ':',
        _ => char.is_ascii_digit(),
    };
    if !matches!(text.len(), 16 | 19) || !text.char_indices().all(shape) {
        return None;
    }
    let (date, time) = text.split_at_checked(10)?;
    let seconds = if time.len() == 6 { ":00" } else { "" };
    let read = quintet_platform::clock::parse_rfc3339(&format!("{date}T{}{seconds}Z", time.get(1..)?)).ok()?;
    let shown = read.as_micros().div_euclid(SECOND_MICROS);
    // No zone is further than a day from UTC, nor changes its clocks by more.
    let [before, behind] = [-86_400, 86_400].map(|shift| shown - zone.offset_seconds(shown + shift));
    let shows = |instant: &i64| instant + zone.offset_seconds(*instant) == shown;
    let instant = [before, behind].into_iter().find(shows).unwrap_or(before);
    Some(Timestamp::from_micros(instant.checked_mul(SECOND_MICROS)?))
}

#[cfg(test)]
mod tests {
    use quintet_platform::clock::{parse_rfc3339, rfc3339};

    use super::*;

    fn at(text: &str) -> Timestamp {
        parse_rfc3339(text).unwrap()
    }

    fn fires(repeat: &str, timezone: &str, anchor: &str, count: usize) -> Vec<String> {
        let rule = Rule { repeat: repeat.to_owned(), timezone: timezone.to_owned(), anchor: at(anchor) };
        let next = |after: &Timestamp| rule.next_after(*after).unwrap();
        std::iter::successors(next(&at(anchor)), next).take(count).map(|at| rfc3339(at)[..19].to_owned()).collect()
    }

    /// 6-messaging.md, D1.
    #[test]
    fn words_repeat_the_time_of_their_beginning() {
        assert_eq!(
            fires("daily", "UTC", "2026-02-27T09:30:07Z", 2),
            ["2026-02-28T09:30:07", "2026-03-01T09:30:07"],
            "to the second"
        );
        assert_eq!(fires("weekly", "UTC", "2026-12-31T23:59:59Z", 2), ["2027-01-07T23:59:59", "2027-01-14T23:59:59"]);
        // Berlin sets its clocks forward on 2026-03-29.
        assert_eq!(
            fires("daily", "Europe/Berlin", "2026-03-27T08:00:00Z", 3),
            ["2026-03-28T08:00:00", "2026-03-29T07:00:00", "2026-03-30T07:00:00"]
        );
        // 23:30 UTC on Sunday is Monday in Berlin.
        assert_eq!(fires("weekly", "Europe/Berlin", "2026-11-29T23:30:00Z", 1), ["2026-12-06T23:30:00"]);
    }

    #[test]
    fn a_day_that_a_month_has_not_is_its_last() {
        assert_eq!(
            fires("monthly", "UTC", "2027-10-31T12:00:00Z", 6),
            [
                "2027-11-30T12:00:00",
                "2027-12-31T12:00:00",
                "2028-01-31T12:00:00",
                "2028-02-29T12:00:00",
                "2028-03-31T12:00:00",
                "2028-04-30T12:00:00"
            ]
        );
        assert_eq!(
            fires("monthly", "UTC", "2027-01-29T12:00:00Z", 3),
            ["2027-02-28T12:00:00", "2027-03-29T12:00:00", "2027-04-29T12:00:00"]
        );
        assert_eq!(fires("monthly", "UTC", "2027-01-05T12:00:00Z", 1), ["2027-02-05T12:00:00"]);
    }

    #[test]
    fn patterns_are_due_at_the_minute() {
        assert_eq!(
            fires("0 9 * * 1-5", "UTC", "2026-05-01T09:00:30Z", 2),
            ["2026-05-04T09:00:00", "2026-05-05T09:00:00"]
        );
        let rule = |repeat: &str, timezone: &str| Rule {
            repeat: repeat.to_owned(),
            timezone: timezone.to_owned(),
            anchor: at("2026-05-01T09:00:30Z"),
        };
        for bad in ["", "hourly-ish", "* * * *", "61 * * * *", "0 0 30 2 *", "0 0 0 * * *"] {
            assert!(matches!(rule(bad, "UTC").next_after(Timestamp::EPOCH), Err(NoRule::Repeat(_))), "{bad}");
        }
        assert_eq!(rule("daily", "Mars/Olympus").next_after(Timestamp::EPOCH), Err(NoRule::Timezone));
    }

    #[test]
    fn a_time_without_an_offset_is_one_of_the_zone() {
        let read = |text: &str, zone: &str| naive_instant(text, &Zone::named(zone).unwrap()).map(rfc3339);
        let utc = |text: &str| read(text, "UTC");
        assert_eq!(utc("2026-08-22 09:00").unwrap(), "2026-08-22T09:00:00.000000Z");
        assert_eq!(utc("2026-08-22T09:00:05"), Some("2026-08-22T09:00:05.000000Z".to_owned()));
        assert_eq!(read("2026-08-22 09:00", "Europe/Berlin").unwrap(), "2026-08-22T07:00:00.000000Z");
        assert_eq!(read("2026-10-25 02:30", "Europe/Berlin").unwrap(), "2026-10-25T00:30:00.000000Z", "the first");
        assert_eq!(read("2026-03-29 02:30", "Europe/Berlin").unwrap(), "2026-03-29T01:30:00.000000Z", "left out");
        for bad in [
            "2026-08-22",
            "2026-08-22 9:00",
            "2026-13-22 09:00",
            "2026-08-22  09:00",
            "2026-08-22_09:00",
            "",
            "2026-02-30 09:00",
        ] {
            assert_eq!(utc(bad), None, "{bad}");
        }
        assert_eq!(utc("2026-08-22 09:0é"), None);
    }
}
