//! Timers: alarm clocks. At its instant a timer tells its webhook, once.
//!
//! Invariants:
//! - a timer that is pending has one row among what begins; one that has fired or was cancelled has one among what goes,
//!   and never fires any more;
//! - that it has fired and the delivery that tells of it are one transaction: it has exactly one event.
//!
//! Reading order: `model` · `tables`, `rows` · the verbs `create`, `cancel`, `fire`, `old` · `list` · `verify` · `http`.

mod cancel;
mod create;
pub(crate) mod fire;
pub(crate) mod http;
mod list;
mod model;
pub(crate) mod old;
mod rows;
mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub(crate) use tables::TABLES;
pub(crate) use verify::{begins_at, verify};
