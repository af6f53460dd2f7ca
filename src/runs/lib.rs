//! Runs: a container image with a command, on this machine, with limits, never twice.
//!
//! Nouns: a tenant submits a *run*; it waits for its time and for a *slot*, then its container is started by the
//! *runner* (`quintet_runtime`), and it ends in one of four states. Every change of state leaves an *event*.
//!
//! Invariants:
//! - nobody reads or changes another tenant's runs, and cannot tell them from absent ones;
//! - a change of state, its event and the counts that go with it are one transaction;
//! - a container has the name of its run and a number; the number is durable before the container is started, and only
//!   the last number of a run may run: nothing is started twice;
//! - a run that has ended stays as it ended;
//! - a metered key has paid for what its runs have used, and for what those are charged that have not ended: no more.
//!
//! Reading order: `model`, `refusal` (words and pure rules) · `tables` (all that is stored) · `changes` (the one way
//! a state changes) · `calendar` (when runs may start) · the verbs `submission`, `dispatch`, `life`, `due` ·
//! `quotas`, `terms` (what keys allow), `queries` · `operator` · `context` · `engine` (what starts and ends containers) · `registry` (where images come from)
//! · `archive`, `logs` (what a run wrote) · `http` · `verify`.

mod archive;
pub mod calendar;
mod changes;
mod context;
mod dispatch;
mod due;
mod engine;
mod http;
mod life;
mod logs;
mod model;
pub mod operator;
mod queries;
mod quotas;
mod refusal;
pub mod registry;
mod submission;
mod tables;
mod terms;
mod verify;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use quintet_platform::clock::DueWork;
use quintet_storage::Family;

pub use crate::context::{Context, RegistrySettings, Settings};
pub use crate::http::{ROUTES, Route, panic_answer, routes};
pub use crate::model::Ceilings;
pub use crate::refusal::KINDS;
pub use crate::tables::TABLES;
pub use crate::verify::verify;

/// The column family that all rows of the room lie in.
pub(crate) const FAMILY: Family = Family::named("runs");

/// What a key may be given. A key gets these when none are asked for.
pub const PERMISSIONS: &[&str] = &["svc_run_submit", "svc_run_read", "svc_run_control", "svc_run_delete"];
/// What a key gets by name only.
pub const SPECIAL_PERMISSIONS: &[&str] = &["svc_tenant_admin"];

/// What falls due by the clock.
#[must_use]
pub fn due_work(context: &Context) -> Vec<Arc<dyn DueWork>> {
    vec![Arc::new(due::Sweep(context.clone()))]
}
