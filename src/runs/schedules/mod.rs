//! Schedules: cron by webhook. At each instant that its pattern names in its time zone, a schedule tells its webhook.
//!
//! Nouns: a schedule *fires* for an instant. An instant that nobody fired for within a minute, because the appliance was off
//! or its disk full, is *missed*; of those that were missed the latest is made up for, or none.
//!
//! Invariants:
//! - a schedule that is enabled and has an instant before it has one row among what begins, at that instant; no other has
//!   one;
//! - what it fires for, its counts, its next instant and the deliveries that tell of it are one transaction;
//! - the instants that it fires for only grow, whatever is changed of it: none is told of twice;
//! - whatever is due when somebody changes it is seen to first, as it was until then: what passes while it is paused is
//!   nobody's, all else was fired for or missed.
//!
//! What was missed is counted by months, not one by one (`quintet_platform::recurrence`), and a transaction fires for the
//! latest of it and for what lies within the last minute: to have been off for a year costs no more than for a day.
//!
//! Reading order: `model`, `plan` (words and pure rules) · `tables`, `rows` · the verbs `create`, `fire`, `change`,
//! `remove` · `list` · `verify` · `http` · `operator`.

mod change;
pub(crate) mod create;
pub(crate) mod fire;
pub(crate) mod http;
mod list;
pub(crate) mod model;
pub(crate) mod operator;
pub(crate) mod plan;
mod remove;
mod rows;
mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub(crate) use tables::TABLES;
pub(crate) use verify::{begins_at, verify};
