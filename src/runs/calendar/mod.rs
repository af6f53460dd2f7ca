//! Working-hours calendars: when a tenant's runs may start, written as a shift of TaskJuggler's.
//!
//! Pure: a calendar is a function of its text, and knows neither store nor clock.
//!
//! # The syntax
//!
//! ```text
//! shift office "Office hours" {
//!   timezone "Europe/Berlin"
//!   workinghours mon - thu 9:00 - 12:30, 13:00 - 17:00
//!   workinghours fri 9:00 - 14:00
//!   workinghours sat, sun off
//!   vacation "Christmas" 2026-12-24 - 2027-01-02
//! }
//! ```
//!
//! # The rules
//!
//! They are those of TaskJuggler 3.7.1's code, whose files are named in brackets; its manual differs in places.
//! Debian's `tj3` is asked by the tests in `oracle`.
//!
//! - The calendar is the first shift of the text. More may follow it or stand in it; they are checked, and without
//!   effect: in TaskJuggler a resource names its shift, and here is none.
//! - The id may be left out, and so may the body. Ids are unique. \[`shiftHeader`\]
//! - A shift without `workinghours` is open Monday to Friday 9:00–17:00; days that are not named keep these hours.
//!   What is said last about a day replaces what was said before, all of it. \[`WorkingHours.rb`\]
//! - Hours end later on the day than they begin, at `24:00` at the latest: a night is written as two, each for its
//!   day. They may overlap, or meet, and are then one. They go by the minute; TaskJuggler looks at each slot of its
//!   timing resolution, and lets it be open if its first instant is.
//! - An instant is open if a clock on the wall there shows an open time: where clocks are set back, hours are open
//!   twice, where they are set forward, what is left out is not. \[`initScoreboard`\]
//! - `timezone` holds for the whole shift, wherever it stands there; the last one, if there are several. A shift
//!   without one is in UTC. Here TaskJuggler's manual is followed: its code knows the attribute and leaves it at
//!   that, and takes the time zone of the project, which is what the tests give it.
//! - `vacation`, and `leaves` of any type, close a stretch: `date` (until the same time of the next day), `date - date`
//!   (without the second one), `date + duration` (`min`, `h`, `d` of 24 hours, `w`, `m` of 30.4167 days, `y` of
//!   365). A date is `2026-12-24`, `2026-12-24-13:00` or `2026-12-24-13:00-+0100`, or `%{date + duration}`, from 1970
//!   to 2035, on a multiple of five minutes. Without an offset it is local time of the shift, and the second one
//!   where the clocks show it twice. \[`TjTime.rb`, `intervalOrDate`\]
//! - `replace` and `plan:` are taken, and without effect.
//! - Comments: `#` and `//` to the end of the line; `/* … */`, up to the last `*/` of the first line that has one.
//!
//! # Where it differs from `tj3`
//!
//! Stricter: a calendar that never opens; minutes beyond 59 and days that a month does not have (TaskJuggler means to
//! refuse both, and looks at the hour and the month instead); anything twice in a list of vacations (there: only the
//! first item); macros, environment variables, `-8<-` texts; paths in place of names of time zones (there `"../x"` is
//! as good as any); durations beyond 100 years; more than [`TEXT_BYTES_MAX`] bytes or [`DEPTH_MAX`] shifts in one
//! another. More generous: `Etc/UTC` and its other names.

mod dates;
mod error;
mod parse;
mod scan;
mod week;
mod zone;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use quintet_storage::Timestamp;

pub use error::ShiftError;
pub use week::Hours;

use week::{DAYS, Week};
use zone::Zone;

/// The most bytes that the text of a calendar may have.
pub const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The most shifts in one another.
pub const DEPTH_MAX: usize = 16;

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
    /// Reads a calendar, in time linear in the text.
    ///
    /// # Errors
    /// The first thing that is wrong in the text, with its place.
    pub fn parse(text: &str) -> Result<Calendar, ShiftError> {
        if text.len() > TEXT_BYTES_MAX {
            let end = text.floor_char_boundary(TEXT_BYTES_MAX);
            let found = format!("{} bytes", text.len());
            return Err(ShiftError::new(text, end, &found, format!("a text of at most {TEXT_BYTES_MAX} bytes")));
        }
        parse::Parser::new(text).calendar()
    }

    fn new(id: Option<&str>, name: String, zone: Zone, week: Week, mut stretches: Vec<(i64, i64)>) -> Calendar {
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
