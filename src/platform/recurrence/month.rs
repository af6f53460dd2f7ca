//! A month of the calendar, as days since 1970-01-01.

use jiff::tz::Offset;

const DAY_SECONDS: i64 = 86_400;
/// After so many days the calendar repeats itself, days of the week included: 400 years.
const CYCLE_DAYS: i64 = 146_097;
/// 1970-01-01 was a Thursday; Sunday is 0.
const EPOCH_WEEKDAY: i64 = 4;

/// A month.
#[derive(Clone, Copy, Debug)]
pub(super) struct Month {
    /// Of the 400 years after which the calendar repeats itself.
    year: i64,
    /// From 1.
    pub number: u32,
    /// Its first day, in days since 1970-01-01.
    pub first_day: i64,
}

impl Month {
    /// The month that a day lies in.
    pub fn of(day: i64) -> Month {
        let second = day.rem_euclid(CYCLE_DAYS).saturating_mul(DAY_SECONDS);
        let date = Offset::UTC.to_datetime(jiff::Timestamp::from_second(second).unwrap_or_default()).date();
        let first_day = day - i64::from(date.day() - 1);
        Month { year: date.year().into(), number: date.month().unsigned_abs().into(), first_day }
    }

    /// How many days it has.
    pub fn length(&self) -> u32 {
        match self.number {
            2 if self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// The day of the week that it begins with; Sunday is 0.
    pub fn first_weekday(&self) -> u32 {
        u32::try_from((self.first_day + EPOCH_WEEKDAY).rem_euclid(7)).unwrap_or(0)
    }

    /// The first day of the month after it.
    pub fn end_day(&self) -> i64 {
        self.first_day + i64::from(self.length())
    }

    /// The month after it.
    pub fn next(&self) -> Month {
        let (year, number) = if self.number == 12 { (self.year + 1, 1) } else { (self.year, self.number + 1) };
        Month { year, number, first_day: self.end_day() }
    }

    /// The month before it.
    pub fn previous(&self) -> Month {
        let (year, number) = if self.number == 1 { (self.year - 1, 12) } else { (self.year, self.number - 1) };
        let mut month = Month { year, number, first_day: self.first_day };
        month.first_day -= i64::from(month.length());
        month
    }
}
