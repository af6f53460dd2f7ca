//! Triggers: a template is run by a cron pattern.
//!
//! Nouns: a trigger *fires* for an instant as a schedule does, with the same rules of what was missed; what it does then is
//! to run its template. A fire is *skipped* while the workflow that it launched last is active, unless it may *overlap*. One
//! that is refused, for a quota or for values that the template no longer takes, is noted as its *last error*.
//!
//! Invariants:
//! - a trigger that is enabled and has an instant before it has one row among what begins, at that instant;
//! - what it launches, its counts and its next instant are one transaction;
//! - it goes with its template.
//!
//! Reading order: `model` · `tables`, `rows` · the verbs `create`, `fire`, `change` · `list` · `verify`.

pub(super) mod change;
pub(super) mod create;
pub(super) mod fire;
pub(super) mod list;
pub(super) mod model;
pub(super) mod rows;
pub(super) mod tables;
pub(super) mod verify;

#[cfg(test)]
mod tests;
