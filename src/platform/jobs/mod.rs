//! Work that falls due, and the one loop that does it: a [`Sweep`] runs a [`Job`] slice by slice, in transactions short
//! enough that nobody waits for them, until nothing more is due. What fails is logged, left due, and tried again.
//!
//! Nouns: a *job* is a kind of work (expired answers, lapsed holds, uses of keys that were noted). An [`Agenda`] is a
//! table whose keys begin with the instant at which a row falls due; [`Rows`] makes it a job. What is [`Noted`] in memory
//! becomes due a little later, and is stored by a job of its own.
//!
//! Invariants:
//! - whoever puts a row into an agenda says so ([`WriteTx::falls_due`](quintet_storage::WriteTx::falls_due)); once that is
//!   published, the clock looks at the agenda anew if the row is due earlier than what it knows of. Nobody else wakes
//!   anybody because of rows;
//! - a slice never looks at what an earlier one has dealt with: before that place lies a long row of deleted rows.
//!
//! Reading order: `job`, `agenda`, `hours`, `noted`.

mod agenda;
mod hours;
mod job;
mod noted;

pub use agenda::{Agenda, Rows, Swept};
pub(crate) use hours::{ByHour, HOUR_MICROS, hour_at_or_after, start_of_hour};
pub use job::{Job, Progress, Sweep};
pub use noted::Noted;
