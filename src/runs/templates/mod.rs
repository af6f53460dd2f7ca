//! Templates: workflows with parameters, stored under a name, to be run again and again.
//!
//! Nouns: a template has *versions*, from 1 on; each says what it asks for (*params*) and what it is (its *definition*, the
//! body of a submission whose strings may hold *placeholders*). To run one is to put values in the places of parameters and
//! to submit what comes of it.
//!
//! Invariants:
//! - what a version says never changes, and no number is left out;
//! - a value is put in its place once: what stands in it is text, whatever it looks like;
//! - what is launched was read and checked as any submission, values and all;
//! - what a version says is sealed at rest; the key of its webhook and the defaults of secrets are in no answer.
//!
//! Reading order: `model`, `placeholders`, `params`, `definition` (words and pure rules) · `tables`, `rows` · the verbs
//! `create`, `change`, `remove`, `launch` · `list` · `triggers` (who run them by the clock) · `verify` · `http`.

use quintet_storage::{Failure, Timestamp, WriteTx};

use crate::model::TriggerKey;

mod change;
mod create;
mod definition;
pub(crate) mod http;
mod launch;
mod list;
mod model;
mod params;
mod placeholders;
mod remove;
mod rows;
mod tables;
mod triggers;
mod verify;

#[cfg(test)]
mod tests;

pub(crate) use tables::TABLES;
pub(crate) use triggers::tables::TABLES as TRIGGER_TABLES;
pub(crate) use verify::{begins_at, verify};

/// Has a trigger fire whose instant has come.
pub(crate) fn fire(tx: &mut WriteTx<'_>, now: Timestamp, key: TriggerKey) -> Result<(), Failure> {
    triggers::fire::fire(tx, now, key)
}
