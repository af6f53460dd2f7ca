//! The instants that a pattern names in a time zone.

use quintet_storage::Timestamp;

use super::cron::Cron;
use crate::zones::Zone;

const SECOND_MICROS: i64 = 1_000_000;
/// The first second of the year 1, and the last of the year 9999 that is one in all time zones.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_207_200;

/// A pattern in a time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    cron: Cron,
    zone: Zone,
}

impl Recurrence {
    /// The fires of this pattern in this zone.
    #[must_use]
    pub fn new(cron: Cron, zone: Zone) -> Self {
        Recurrence { cron, zone }
    }

    /// The first fire after an instant. There is always one but at the end of the year 9999.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let mut from = second_of(after).saturating_add(1).max(FIRST_SECOND);
        while from <= LAST_SECOND {
            let stretch = self.stretch(from);
            if stretch.fires_for_left_out && stretch.from == from {
                return Some(timestamp(from));
            }
            let (first, end) = stretch.minutes(from, stretch.until);
            if let Some(local) = self.cron.first(first, end) {
                return Some(timestamp(stretch.instant(local)));
            }
            from = stretch.until;
        }
        None
    }

    /// The last fire at an instant or before it. There is always one but at the beginning of the year 1.
    #[must_use]
    pub fn latest_at_or_before(&self, at: Timestamp) -> Option<Timestamp> {
        let mut until = second_of(at).min(LAST_SECOND).saturating_add(1);
        while until > FIRST_SECOND {
            let stretch = self.stretch(until - 1);
            let (first, end) = stretch.minutes(stretch.from, until);
            if let Some(local) = self.cron.last(first, end) {
                return Some(timestamp(stretch.instant(local)));
            }
            if stretch.fires_for_left_out {
                return Some(timestamp(stretch.from));
            }
            until = stretch.from;
        }
        None
    }

    /// How many fires there are after one instant and up to another, that one included. It is exact, and
    /// looks at each month and each change of the clocks between them, not at the fires.
    #[must_use]
    pub fn count_between(&self, after: Timestamp, until: Timestamp) -> u64 {
        let mut from = second_of(after).saturating_add(1).max(FIRST_SECOND);
        let end = second_of(until).min(LAST_SECOND).saturating_add(1);
        let mut count = 0;
        while from < end {
            let stretch = self.stretch(from);
            let (first_minute, end_minute) = stretch.minutes(from, end);
            count += self.cron.count(first_minute, end_minute);
            // What was left out fires with what the clocks show then, if they show something that is named.
            let shown = stretch.from + stretch.offset;
            let fires_too = shown % 60 == 0 && self.cron.count(shown / 60, shown / 60 + 1) > 0;
            count += u64::from(stretch.fires_for_left_out && stretch.from == from && !fires_too);
            from = stretch.until;
        }
        count
    }

    /// The stretch that an instant lies in.
    fn stretch(&self, instant: i64) -> Stretch {
        let change = self.zone.latest_change(instant).filter(|change| *change > FIRST_SECOND);
        let from = change.unwrap_or(FIRST_SECOND);
        let until = self.zone.next_change(instant).unwrap_or(i64::MAX).min(LAST_SECOND + 1);
        let offset = self.zone.offset_seconds(instant);
        let begins = from + offset;
        // Where the clocks had come before that change, and so the latest they had ever shown: changes are days apart, and
        // of a day at most, which a test keeps.
        let shown_before =
            change.filter(|_| self.cron.fixed).map(|change| change + self.zone.offset_seconds(change - 1));
        let left_out = shown_before.filter(|shown| *shown < begins);
        Stretch {
            from,
            until,
            offset,
            new_from: shown_before.map_or(begins, |shown| shown.max(begins)),
            fires_for_left_out: left_out
                .is_some_and(|left_out| self.cron.first(whole_minute(left_out), whole_minute(begins)).is_some()),
        }
    }
}

/// A time between two changes of a zone's clocks, in seconds since 1970-01-01T00:00:00Z.
struct Stretch {
    /// Its first second.
    from: i64,
    /// The first second after it.
    until: i64,
    /// How far the clocks are ahead of UTC.
    offset: i64,
    /// The first local second that counts: of a fixed pattern what was shown before does not.
    new_from: i64,
    /// Whether the pattern fires at its first second for what the change before it left out.
    fires_for_left_out: bool,
}

impl Stretch {
    /// The local minutes that count, and begin from `from` on and before `until`; both are cut to the stretch.
    fn minutes(&self, from: i64, until: i64) -> (i64, i64) {
        let first = (from.max(self.from) + self.offset).max(self.new_from);
        let end = until.min(self.until) + self.offset;
        (whole_minute(first), whole_minute(end))
    }

    /// When the clocks show a local minute.
    fn instant(&self, local_minute: i64) -> i64 {
        local_minute * 60 - self.offset
    }
}

/// The first whole minute at a local second or after it.
fn whole_minute(local_second: i64) -> i64 {
    -(-local_second).div_euclid(60)
}

fn second_of(instant: Timestamp) -> i64 {
    instant.as_micros().div_euclid(SECOND_MICROS)
}

fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_micros(second * SECOND_MICROS)
}
