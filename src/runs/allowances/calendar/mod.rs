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
//! - `timezone` is a name of the IANA database with a slash in it, or `UTC`, which alone TaskJuggler lets go without. It
//!   holds for the whole shift, wherever it stands there; the last one, if there are several. A shift
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
mod shift;
mod week;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

pub use error::ShiftError;
pub use parse::{DEPTH_MAX, TEXT_BYTES_MAX};
pub use shift::Calendar;
pub use week::Hours;
