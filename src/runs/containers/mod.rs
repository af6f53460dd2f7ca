//! Runs themselves: from their submission to the end of what is kept of them.
//!
//! Nouns: a *run* waits in its tenant's queue, in one of two *classes*; it gets a *slot*, then a *container*, which has
//! the name of the run and a *number*; it ends with a *result* and leaves an *archive*. Every change of state leaves an
//! *event*.
//!
//! Invariants:
//! - a change of state is a way of the table in `states`; it, its event and the counts that go with it are one
//!   transaction;
//! - the number of a container is durable before the container is started, and only the last number of a run may run:
//!   nothing is started twice;
//! - a run that has ended stays as it ended.
//!
//! Reading order: `model` (words and pure rules), `end` (what an outcome means) · `tables` (what is stored), `loads`,
//! `paces`, `descriptions`, `results` (a table each) · `told` (who hears of it), `changes` (the one way a state changes) · the verbs `submission`,
//! `late`, `wishes` (what a cancelled workflow ends), `shares` (whose turn it is), `dispatch`, `life`, `removal`, `hours` · what is asked: `queue`, `list`, `wait` ·
//! what a run wrote and used: `archive`, `lines`, `page`, `logs`, `follow`, `utilization` · `runner` and `control` (what callers do to containers) · `engine` (what
//! starts and ends them) · `verify` · `http`.

mod archive;
pub(crate) mod changes;
pub(crate) mod control;
pub(crate) mod descriptions;
mod dispatch;
mod end;
mod engine;
pub(crate) mod follow;
pub(crate) mod hours;
pub(crate) mod http;
pub(crate) mod late;
mod life;
pub(crate) mod lines;
pub(crate) mod list;
pub(crate) mod loads;
pub(crate) mod logs;
pub(crate) mod model;
mod paces;
pub(crate) mod page;
pub(crate) mod queue;
pub(crate) mod removal;
pub(crate) mod results;
mod runner;
mod sealing;
mod shares;
pub(crate) mod submission;
mod tables;
mod told;
pub(crate) mod utilization;
pub(crate) mod verify;
mod wait;
pub(crate) mod wishes;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use changes::find;
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
pub(crate) use wait::wait;
