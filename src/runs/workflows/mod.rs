//! Workflows: graphs of containers and human decisions, which end truthfully.
//!
//! Nouns: a workflow has *nodes*, containers or *gates*, joined by *edges* that want their upstream to have succeeded,
//! failed, or either. An *attempt* at a container node is an ordinary run; its *output* is handed on to other nodes. A gate
//! is *opened* and then *decided*.
//!
//! Invariants:
//! - there is no task: the transaction that ends a run, decides a gate, submits, resumes, retries or reaches an instant
//!   also follows the edges to the fixpoint, makes the next runs, and writes events and deliveries;
//! - an attempt is one run, and its end reaches its node once: a node hears of the run that it waits for alone;
//! - a workflow has ended exactly when all its nodes have, unless it is paused;
//! - whatever a node waits for is there: a run that has not ended, an open gate, an instant;
//! - a cancelled workflow stays so with all its nodes, and what its runs come to later touches none of them; rows that say
//!   so for its last nodes may be written by the transactions right behind the one that cancelled it.
//!
//! Reading order: `model` (words), `rules` (edges, policies, ends: functions of states), `graph` (what is asked for is one) ·
//! `tables`, `rows` (a workflow is read and written whole), `loads` (how many there are) · `view` (how it is told), `picture` (how it is drawn), `told` (who hears of it) · `step` (the
//! one way it goes on) · the verbs `create`, `ended`, `control`, `decide`, `retry`, `old` · what is asked: `list`, `events`,
//! `wait` · `verify` · `http` · `operator`.

pub(crate) mod control;
pub(crate) mod create;
mod decide;
mod ended;
mod events;
pub(crate) mod graph;
pub(crate) mod http;
mod list;
mod loads;
pub(crate) mod model;
mod old;
pub mod operator;
pub(crate) mod picture;
mod retry;
mod rows;
mod rules;
mod step;
mod tables;
mod told;
mod verify;
mod view;
mod wait;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use control::go_on;
pub(crate) use decide::expire;
pub(crate) use ended::{run_ended, run_was_too_late};
pub(crate) use old::remove_old;
pub(crate) use rows::is_active;
#[cfg(test)]
pub(crate) use rows::origin_of;
pub(crate) use tables::TABLES;
pub(crate) use verify::{begins_at, verify};
