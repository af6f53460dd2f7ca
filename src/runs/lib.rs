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
//! Reading order: `model`, `states` (the one table of transitions), `events`, `refusal` (words and pure rules) · `due`
//! (what falls due by the clock) · `allowances` (what tenants and keys may have) · `registry` (where images come from) ·
//! `images` (which of them tenants name) · `aside` (runs without a worker) · `pictures` (who draws) · `context`,
//! `dialect`, `form`, `lists`, `sealed`, `wire` (what all folders share) · `webhooks` (who is told what) · `alarms`, `timers`,
//! `schedules` (webhooks by the clock) ·
//! `containers` (runs themselves, and what starts and ends them) · `workflows` (graphs of them) · `templates` (workflows with
//! parameters) · `sweep` (what is due is done) · `tenant` (its quotas), `usage` · `mcp` (the same as tools) · `http` (all that is served) · `operator`. Each
//! imports only what stands before it.

mod alarms;
mod allowances;
mod aside;
mod containers;
mod context;
mod dialect;
mod due;
mod events;
mod followers;
mod form;
mod http;
mod images;
mod lists;
mod mcp;
mod model;
pub mod operator;
pub mod pictures;
mod refusal;
pub mod registry;
mod schedules;
mod sealed;
mod states;
mod sweep;
mod templates;
mod tenant;
mod timers;
mod usage;
mod webhooks;
mod wire;
mod workflows;

#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use quintet_platform::Foundation;
use quintet_platform::clock::DueWork;
use quintet_platform::jobs::{Rows, Sweep};
use quintet_platform::service::{self, Route};
use quintet_storage::{Failure, Migration, Snapshot, TableSpec};

pub use crate::allowances::{Ceilings, calendar};
pub use crate::context::{Context, Settings};
pub use crate::dialect::Runs;
use crate::due::Fire;
pub use crate::http::routes;
pub use crate::refusal::CODES;
pub use crate::registry::RegistrySettings;
pub use crate::webhooks::WEBHOOKS;

/// Every table of this package, a folder's after the other's. Their tags lie in 0x0400 to 0x04FF.
pub const TABLES: &[TableSpec] = &joined::<TABLE_COUNT>(&[
    containers::TABLES,
    allowances::tables::TABLES,
    due::TABLES,
    images::tables::TABLES,
    webhooks::TABLES,
    alarms::TABLES,
    timers::TABLES,
    schedules::TABLES,
    workflows::TABLES,
    templates::TABLES,
    templates::TRIGGER_TABLES,
]);

const TABLE_COUNT: usize = containers::TABLES.len()
    + allowances::tables::TABLES.len()
    + due::TABLES.len()
    + images::tables::TABLES.len()
    + webhooks::TABLES.len()
    + alarms::TABLES.len()
    + timers::TABLES.len()
    + schedules::TABLES.len()
    + workflows::TABLES.len()
    + templates::TABLES.len()
    + templates::TRIGGER_TABLES.len();

/// What brings rows of runs from an older format of the directory to the present one.
pub const MIGRATIONS: &[Migration] = &[due::MIGRATION];

/// Several lists as one.
#[expect(clippy::indexing_slicing, reason = "in a constant: a place that is not there is no program")]
const fn joined<const COUNT: usize>(lists: &[&[TableSpec]]) -> [TableSpec; COUNT] {
    let mut all = [lists[0][0]; COUNT];
    let (mut list, mut row, mut place) = (0, 0, 0);
    while place < COUNT {
        if row == lists[list].len() {
            (list, row) = (list + 1, 0);
        } else {
            all[place] = lists[list][row];
            (row, place) = (row + 1, place + 1);
        }
    }
    all
}

/// What a key may be given. A key gets these when none are asked for.
pub const PERMISSIONS: &[&str] = &["svc_run_submit", "svc_run_read", "svc_run_control", "svc_run_delete"];
/// What a key gets by name only.
pub const SPECIAL_PERMISSIONS: &[&str] = &["svc_tenant_admin"];

/// What runs need to serve and to run: made once, when the appliance starts.
///
/// # Errors
/// The names of registries are not what they must be, or the directory for what arrives cannot be made.
pub fn context(foundation: Foundation, settings: Settings) -> io::Result<Context> {
    Context::new(foundation, settings, workflows::run_ended)
}

/// Every route that is served.
pub fn served() -> impl Iterator<Item = &'static Route> {
    service::routes::<Runs>(crate::http::ENDPOINTS)
}

/// What falls due by the clock.
#[must_use]
pub fn due_work(context: &Context) -> Vec<Arc<dyn DueWork>> {
    vec![
        Arc::new(Sweep(Rows::new(context.store.clone(), sweep::DueOfRuns))),
        Arc::new(Sweep(Rows::new(context.store.clone(), sweep::FiresOfRuns))),
    ]
}

/// Finds what contradicts itself in the rows of runs.
///
/// # Errors
/// The store's failures.
pub fn verify(read: &Snapshot) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    containers::verify(read, &mut findings)?;
    allowances::quotas::verify(read, &mut findings)?;
    WEBHOOKS.verify(read, &mut findings)?;
    let is_open = |run_key| Ok(containers::find(read, run_key)?.is_some_and(|run| !run.state.is_terminal()));
    allowances::meters::verify(read, is_open, &mut findings)?;
    workflows::verify(read, &mut findings)?;
    templates::verify(read, &mut findings)?;
    verify_alarms(read, &mut findings)?;
    Ok(findings)
}

/// Timers and schedules, what begins by them, and how many there are, agree.
fn verify_alarms(read: &Snapshot, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut counted = BTreeMap::new();
    timers::verify(read, &mut counted, findings)?;
    schedules::verify(read, &mut counted, findings)?;
    alarms::counts::verify(read, counted, findings)?;
    due::each_fire(read, findings, |at, fire, findings| {
        let is_right = match fire {
            Fire::Timer(timer_key) => timers::begins_at(read, timer_key, at)?,
            Fire::Schedule(schedule_key) => schedules::begins_at(read, schedule_key, at)?,
            Fire::WorkflowStart(_) | Fire::NodeRetry(_) | Fire::GateExpiry(_) | Fire::WorkflowGoesOn(_) => {
                workflows::begins_at(read, fire, at)?
            }
            Fire::Trigger(trigger_key) => templates::begins_at(read, trigger_key, at)?,
        };
        if !is_right {
            findings.push(format!("{fire:?} is to begin at {at:?}, and does not say so itself"));
        }
        Ok(())
    })
}
