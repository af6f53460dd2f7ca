//! Which minutes of a clock on the wall a pattern names.

use super::month::Month;

/// Minutes of a day.
const DAY_MINUTES: i64 = 24 * 60;
/// The days of a month, as bits, that are one day of the week if the first is.
const EVERY_SEVENTH: u32 = 1 << 1 | 1 << 8 | 1 << 15 | 1 << 22 | 1 << 29;

/// A cron pattern that was read: which minutes of a clock on the wall it names. Its local minutes are counted from
/// 1970-01-01T00:00 there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    /// The minutes of an hour, as bits from 0; at least one. So are the others.
    pub(super) minutes: u64,
    pub(super) hours: u64,
    /// Bits from 1.
    pub(super) days: u64,
    /// Bits from 1.
    pub(super) months: u64,
    /// Bits from 0, which is Sunday.
    pub(super) weekdays: u64,
    /// Whether a day may be named by either of its fields, and need not be by both.
    pub(super) either_day: bool,
    /// Whether minute and hour name times of day, and do not go by the time that passes.
    pub(super) fixed: bool,
}

impl Cron {
    /// Whether there is a day that it names. Every day of the year is each day of the week some time in 400 years.
    pub(super) fn has_a_day(&self) -> bool {
        let has = |longest: u32, months: u64| self.months & months != 0 && self.days & bits(1, longest) != 0;
        let february = 1 << 2;
        let short = 1 << 4 | 1 << 6 | 1 << 9 | 1 << 11;
        self.either_day || has(29, february) || has(30, short) || has(31, !(february | short))
    }

    /// The first local minute it names, of those from `from` on and before `until`.
    pub(super) fn first(&self, from: i64, until: i64) -> Option<i64> {
        let (day, minute) = split(from);
        let today = self.next_time(minute).filter(|_| self.names_day(day)).map(|time| (day, time));
        let (day, time) = today.or_else(|| {
            let last_day = split(until - 1).0;
            Some((self.next_day(day + 1, last_day)?, self.next_time(0)?))
        })?;
        Some(day * DAY_MINUTES + i64::from(time)).filter(|found| *found < until)
    }

    /// The last one, likewise.
    pub(super) fn last(&self, from: i64, until: i64) -> Option<i64> {
        let (day, minute) = split(until - 1);
        let today = self.latest_time(minute).filter(|_| self.names_day(day)).map(|time| (day, time));
        let (day, time) = today.or_else(|| {
            let first_day = split(from).0;
            Some((self.latest_day(day - 1, first_day)?, self.latest_time(23 * 60 + 59)?))
        })?;
        Some(day * DAY_MINUTES + i64::from(time)).filter(|found| *found >= from)
    }

    /// How many there are, likewise.
    pub(super) fn count(&self, from: i64, until: i64) -> u64 {
        if until <= from {
            return 0;
        }
        let ((first_day, first_minute), (end_day, end_minute)) = (split(from), split(until));
        let before = |day, minute| if self.names_day(day) { self.times_before(minute) } else { 0 };
        let of_days = self.count_days(first_day, end_day) * self.times_before(24 * 60);
        of_days + before(end_day, end_minute) - before(first_day, first_minute)
    }

    fn names_day(&self, day: i64) -> bool {
        let month = Month::of(day);
        (day - month.first_day + 1).try_into().is_ok_and(|number: u32| self.days_of(&month) & 1 << number != 0)
    }

    /// The days of a month that it names, as bits from 1.
    fn days_of(&self, month: &Month) -> u64 {
        if self.months & 1 << month.number == 0 {
            return 0;
        }
        let begins = month.first_weekday();
        let on = |weekday: &u32| self.weekdays & 1 << weekday != 0;
        let by_week = (0..7).filter(on).fold(0, |days, weekday| {
            let after_the_first = (weekday + 7 - begins) % 7;
            days | u64::from(EVERY_SEVENTH) << after_the_first
        });
        let named = if self.either_day { self.days | by_week } else { self.days & by_week };
        named & bits(1, month.length())
    }

    /// The first day it names, of those from `from` to `last`.
    fn next_day(&self, from: i64, last: i64) -> Option<i64> {
        let mut month = Month::of(from);
        let mut gone = from - month.first_day;
        while month.first_day <= last {
            let left = self.days_of(&month) >> (gone + 1);
            if left != 0 {
                return Some(month.first_day + gone + i64::from(left.trailing_zeros()));
            }
            (month, gone) = (month.next(), 0);
        }
        None
    }

    /// The last day it names, of those from `first` to `until`.
    fn latest_day(&self, until: i64, first: i64) -> Option<i64> {
        let mut month = Month::of(until);
        let mut days = self.days_of(&month) & bits(1, u32::try_from(until - month.first_day + 1).unwrap_or(31));
        loop {
            if let Some(number) = days.checked_ilog2() {
                return Some(month.first_day + i64::from(number) - 1);
            }
            if month.first_day <= first {
                return None;
            }
            month = month.previous();
            days = self.days_of(&month);
        }
    }

    /// How many days it names from `from` on and before `until`.
    fn count_days(&self, from: i64, until: i64) -> u64 {
        let mut count = 0;
        let mut month = Month::of(from);
        let mut gone = from - month.first_day;
        while month.first_day < until {
            let length = (until - month.first_day).min(i64::from(month.length()));
            let days = self.days_of(&month) & bits(1, u32::try_from(length).unwrap_or(31));
            count += u64::from((days >> (gone + 1)).count_ones());
            (month, gone) = (month.next(), 0);
        }
        count
    }

    /// The first minute of the day it names, of those from `minute` on.
    fn next_time(&self, minute: u32) -> Option<u32> {
        let (hour, minute) = (minute / 60, minute % 60);
        let left = self.minutes >> minute;
        if left != 0 && self.hours & 1 << hour != 0 {
            return Some(hour * 60 + minute + left.trailing_zeros());
        }
        let later = self.hours >> hour >> 1;
        (later != 0).then(|| (hour + 1 + later.trailing_zeros()) * 60 + self.minutes.trailing_zeros())
    }

    /// The last minute of the day it names, of those up to `minute`.
    fn latest_time(&self, minute: u32) -> Option<u32> {
        let (hour, minute) = (minute / 60, minute % 60);
        let gone = (self.minutes & bits(0, minute)).checked_ilog2();
        if let Some(minute) = gone.filter(|_| self.hours & 1 << hour != 0) {
            return Some(hour * 60 + minute);
        }
        let earlier = (self.hours & below(hour)).checked_ilog2()?;
        Some(earlier * 60 + self.minutes.checked_ilog2()?)
    }

    /// How many minutes of the day it names before `minute`, which may be the day's end.
    fn times_before(&self, minute: u32) -> u64 {
        let (hour, minute) = (minute / 60, minute % 60);
        let whole_hours = (self.hours & below(hour)).count_ones() * self.minutes.count_ones();
        let of_this = if self.hours & 1 << hour == 0 { 0 } else { (self.minutes & below(minute)).count_ones() };
        u64::from(whole_hours + of_this)
    }
}

/// The day of a local minute, and the minute of that day.
fn split(local: i64) -> (i64, u32) {
    (local.div_euclid(DAY_MINUTES), u32::try_from(local.rem_euclid(DAY_MINUTES)).unwrap_or(0))
}

/// The bits from `first` to `last`, which is at most 62.
pub(super) fn bits(first: u32, last: u32) -> u64 {
    below(last + 1) & !below(first)
}

fn below(bit: u32) -> u64 {
    (1 << bit) - 1
}
