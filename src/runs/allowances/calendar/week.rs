//! The hours of a week, and where in them a local time lies.

/// Seconds of a day.
pub(super) const DAY_SECONDS: i64 = 86_400;

/// The names of the days as TaskJuggler writes them, in its order.
pub(super) const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A stretch of open hours of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hours {
    /// The first minute after midnight that is open.
    pub from_minute: u16,
    /// The first one that is closed again; 1440 is midnight.
    pub until_minute: u16,
}

impl Hours {
    fn first_second(self) -> i64 {
        i64::from(self.from_minute).saturating_mul(60)
    }

    fn end_second(self) -> i64 {
        i64::from(self.until_minute).saturating_mul(60)
    }
}

/// The open hours of each day from Sunday on: in order, apart from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Week([Vec<Hours>; 7]);

impl Default for Week {
    /// What TaskJuggler takes where nothing is said: Monday to Friday, nine to five (`WorkingHours.rb`).
    fn default() -> Self {
        let hours = || vec![Hours { from_minute: 9 * 60, until_minute: 17 * 60 }];
        Week([vec![], hours(), hours(), hours(), hours(), hours(), vec![]])
    }
}

impl Week {
    /// Replaces the hours of some days. Hours that overlap or meet become one.
    pub fn set(&mut self, days: [bool; 7], mut hours: Vec<Hours>) {
        hours.sort_unstable();
        let mut merged: Vec<Hours> = Vec::with_capacity(hours.len());
        for next in hours {
            match merged.last_mut() {
                Some(last) if next.from_minute <= last.until_minute => {
                    last.until_minute = last.until_minute.max(next.until_minute);
                }
                _ => merged.push(next),
            }
        }
        for (day, chosen) in self.0.iter_mut().zip(days) {
            if chosen {
                day.clone_from(&merged);
            }
        }
    }

    /// Whether no day has hours.
    pub fn is_closed(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// The hours of a day, Sunday being 0.
    pub fn of(&self, day: usize) -> &[Hours] {
        self.0.get(day).map_or(&[], Vec::as_slice)
    }

    /// Whether a local time (seconds since the local midnight of 1970-01-01) is open.
    pub fn is_open(&self, local_seconds: i64) -> bool {
        self.next_open(local_seconds) == Some(local_seconds)
    }

    /// The first local time from `local_seconds` on that is open: itself, or a start within the next seven days.
    pub fn next_open(&self, local_seconds: i64) -> Option<i64> {
        let today = local_seconds.div_euclid(DAY_SECONDS);
        let now = local_seconds.rem_euclid(DAY_SECONDS);
        for ahead in 0..=7_i64 {
            let day = today.saturating_add(ahead);
            // 1970-01-01 was a Thursday.
            let weekday = usize::try_from(day.saturating_add(4).rem_euclid(7)).unwrap_or_default();
            let hours = self.of(weekday);
            let from = if ahead == 0 { now } else { 0 };
            let first = hours.partition_point(|hours| hours.end_second() <= from);
            if let Some(hours) = hours.get(first) {
                let second = hours.first_second().max(from);
                return Some(day.saturating_mul(DAY_SECONDS).saturating_add(second));
            }
        }
        None
    }
}
