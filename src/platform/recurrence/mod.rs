//! What comes again and again: cron patterns, and the instants they name in a time zone.
//!
//! Pure: a [`Recurrence`] is a function of its pattern's text and its zone's name, and knows neither store nor clock.
//!
//! Nouns: a [`Cron`] is a pattern; a *fire* is an instant it names; *local minutes* are what clocks on the wall show,
//! counted from 1970-01-01T00:00 there; a *stretch* is a time between two changes of a zone's clocks.
//!
//! # The pattern
//!
//! Five fields, apart by blanks (spaces and tabs, which may stand around them as well): minute 0–59, hour 0–23, day of
//! month 1–31, month 1–12 or `jan`–`dec`, day of week 0–7 or `sun`–`sat`, where 0 and 7 are Sunday. A field is a list,
//! apart by commas, of numbers or names, of ranges `a-b` that do not wrap, and of `*`; after a range or `*` a step `/n`
//! takes every n-th of it, from its first on. In a range's end `sun` is 7 if its beginning is another day: `fri-sun`.
//! Or one of `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly`, `@annually`. Letters in any case.
//! Nothing else is taken, and whoever writes something else is told what was found, and what would be right.
//!
//! # The rules
//!
//! They are those of Paul Vixie's cron.
//!
//! - A day is named by its day of the month or by its day of the week where neither field begins with `*`; else it must
//!   be named by both.
//! - A pattern whose minute or hour begins with `*` goes by the time that passes: it fires whenever the clocks come to a
//!   minute it names, so twice where they are set back, and never at what they leave out.
//! - Any other is *fixed*: each local minute it names fires once, when the clocks first come to it or past it. So it does
//!   not fire again where they are set back, and fires just after a change by which they leave out something it names;
//!   once, however much was left out.
//! - A pattern that names a day no month has is refused, since it would never fire.
//!
//! # Invariants
//!
//! - Fires are whole seconds, in the years 1 to 9999, and each is there once.
//! - `latest_at_or_before` and `count_between` tell of the same fires as `next_after`.
//! - Nothing walks from fire to fire or from day to day: time is looked through by months and by stretches. What counts
//!   the minutes of 30 years looks at 360 months and some 60 changes of the clocks.
//!
//! Reading order: `error`, `month`, `cron` (which local minutes), `read` (the text), `fires` (which instants).

mod cron;
mod error;
mod fires;
mod month;
mod read;

#[cfg(test)]
mod tests;

pub use cron::Cron;
pub use error::{CronError, Field};
pub use fires::Recurrence;
pub use read::TEXT_CHARACTERS_MAX;
