//! A calendar as it was read: whether it is open, and when it opens next.

use quintet_platform::zones::Zone;
use quintet_storage::Timestamp;

use super::week::{DAYS, Hours, Week};

const MICROS: i64 = 1_000_000;

/// When runs may start.
#[derive(Clone, Debug)]
pub struct Calendar {
    id: Option<String>,
    name: String,
    zone: Zone,
    week: Week,
    /// Time off, in seconds since 1970-01-01T00:00:00Z: in order, apart from each other.
    leaves: Vec<(i64, i64)>,
}

impl Calendar {
    pub(super) fn new(
        id: Option<&str>,
        name: String,
        zone: Zone,
        week: Week,
        mut stretches: Vec<(i64, i64)>,
    ) -> Calendar {
        stretches.retain(|(start, end)| start < end);
        stretches.sort_unstable();
        let mut leaves: Vec<(i64, i64)> = Vec::with_capacity(stretches.len());
        for (start, end) in stretches {
            match leaves.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => leaves.push((start, end)),
            }
        }
        Calendar { id: id.map(str::to_owned), name, zone, week, leaves }
    }

    /// Whether a run may start at this instant.
    #[must_use]
    pub fn is_open(&self, at: Timestamp) -> bool {
        let second = at.as_micros().div_euclid(MICROS);
        self.leave_around(second).is_none() && self.week.is_open(self.local(second))
    }

    /// The first instant from `at` on at which a run may start: `at` itself where the calendar is open, else the next
    /// start of hours, end of a leave or change of the clocks that opens it. [`Timestamp::MAX`] if that lies beyond
    /// what can be written down.
    #[must_use]
    pub fn next_open(&self, at: Timestamp) -> Timestamp {
        // A calendar opens and closes at whole seconds.
        let second = at.as_micros().div_euclid(MICROS);
        match self.next_open_second(second) {
            Some(open) if open == second => at,
            Some(open) => Timestamp::from_micros(open.saturating_mul(MICROS)),
            None => Timestamp::MAX,
        }
    }

    /// Each round ends at a start of hours, or steps over a leave or a change of the clocks.
    fn next_open_second(&self, from: i64) -> Option<i64> {
        let mut second = from;
        loop {
            if let Some(end) = self.leave_around(second) {
                second = end;
                continue;
            }
            let local = self.local(second);
            let ahead = self.week.next_open(local)?.saturating_sub(local);
            let open = second.saturating_add(ahead);
            if ahead == 0 {
                return Some(open);
            }
            // Up to the next change the local clock runs as it does now.
            match self.zone.next_change(second) {
                Some(change) if change <= open => second = change,
                _ if self.leave_around(open).is_none() => return Some(open),
                _ => second = open,
            }
        }
    }

    fn local(&self, second: i64) -> i64 {
        second.saturating_add(self.zone.offset_seconds(second))
    }

    /// When the leave ends that contains this instant.
    fn leave_around(&self, second: i64) -> Option<i64> {
        let after = self.leaves.partition_point(|(_, end)| *end <= second);
        self.leaves.get(after).filter(|(start, _)| *start <= second).map(|(_, end)| *end)
    }

    /// The id of the shift, if it has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The name of the shift.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the time zone its hours are in.
    #[must_use]
    pub fn time_zone(&self) -> &str {
        self.zone.name()
    }

    /// The open hours of each day from Monday to Sunday, as they hold: in order, apart from each other.
    pub fn week(&self) -> impl Iterator<Item = (&'static str, &[Hours])> {
        (1..=7).map(|day| day % 7).filter_map(|day| Some((*DAYS.get(day)?, self.week.of(day))))
    }

    /// The stretches of time off, from the first closed instant to the next that is not: in order, apart.
    pub fn leaves(&self) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let instant = |second: i64| Timestamp::from_micros(second.saturating_mul(MICROS));
        self.leaves.iter().map(move |(start, end)| (instant(*start), instant(*end)))
    }
}
