//! Where a run stands in its queue: its place, what holds it, and when its slot is likely to come.

use quintet_platform::access::{Service, Tenant, TenantStatus, list_tenants};
use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid};

use super::model::{Class, Run, Share};
use super::tables::{WAITING, tag_of};
use super::{loads, paces};
use crate::allowances::model::Hours;
use crate::allowances::{Ceilings, quotas};
use crate::aside::Aside;
use crate::context::Context;
use crate::model::{RunId, RunKey, TenantId};
use crate::states::RunState;

/// The furthest place in a queue that is counted exactly.
pub(super) const POSITION_MAX: usize = 10_000;
/// Tenants looked at in a row, and in all, for a second one that may run: among more there is one.
const TENANTS_PAGE: usize = 50;
const TENANTS_MAX: usize = 1_000;

/// What a waiting run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockedBy {
    /// Its time has not come.
    StartTime,
    /// Nobody starts containers at the moment.
    Engine,
    /// The tenant's `max_concurrent_runs`.
    Concurrency,
    /// Slots that deferred runs have reserved.
    Reservations,
    /// The machine's workers.
    Workers,
    /// Room on the machine's disk.
    Disk,
}

impl BlockedBy {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            BlockedBy::StartTime => "start_time",
            BlockedBy::Engine => "engine",
            BlockedBy::Concurrency => "concurrency",
            BlockedBy::Reservations => "reservations",
            BlockedBy::Workers => "workers",
            BlockedBy::Disk => "disk",
        }
    }
}

/// The machine, as far as it says when a run starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine<'a> {
    /// How many workers it has.
    pub(crate) workers: u64,
    /// The runs that have their slot and hold no worker.
    pub(crate) aside: &'a Aside,
    /// Whether its last free worker is for a tenant that holds none.
    pub(crate) keeps_last: bool,
    /// What no tenant may exceed on it.
    pub(crate) ceilings: &'a Ceilings,
    /// Whether containers can be started.
    pub(crate) is_engine_up: bool,
    /// Whether its disk has no room for another one.
    pub(crate) is_disk_short: bool,
}

/// Whether several tenants may have runs here.
fn is_shared(read: &impl Read) -> Result<bool, Failure> {
    let (mut after, mut seen, mut found) = (None, 0, 0);
    loop {
        let page = list_tenants(read, after, TENANTS_PAGE)?;
        let may_run =
            |tenant: &&Tenant| tenant.status == TenantStatus::Active && tenant.services.contains(Service::Runs);
        found += page.iter().filter(may_run).count();
        seen += page.len();
        match page.last() {
            _ if found > 1 || seen >= TENANTS_MAX => return Ok(true),
            Some(last) => after = Some(last.tenant_id),
            None => return Ok(false),
        }
    }
}

impl Context {
    /// The machine as it is now, as far as it says when a run starts.
    pub(crate) fn machine(&self, read: &impl Read) -> Result<Machine<'_>, Failure> {
        Ok(Machine {
            workers: u64::from(self.settings.workers),
            aside: &self.aside,
            keeps_last: is_shared(read)?,
            ceilings: &self.settings.ceilings,
            is_engine_up: self.is_engine_up(),
            is_disk_short: self.is_disk_short(),
        })
    }
}

/// When a run starts, and why not yet: the contract's `scheduling_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheduling {
    /// When it may start, and whether a calendar has moved that.
    pub(crate) start: (Timestamp, bool),
    /// Its place in the tenant's queue, from 1; none if it does not wait.
    pub(crate) position: Option<usize>,
    /// What holds it.
    pub(crate) blocked_by: Option<BlockedBy>,
    /// When it got its slot, or will get one, as far as that can be told.
    pub(crate) estimated_start: Option<Timestamp>,
}

/// Its place in the tenant's queue, from 1; none if it does not wait.
pub(super) fn position(read: &impl Read, run_key: RunKey, run: &Run) -> Result<Option<usize>, Failure> {
    if run.state != RunState::Scheduled {
        return Ok(None);
    }
    Ok(Some(ahead(read, run_key.0, run_key.1, run, POSITION_MAX)? + 1))
}

/// How many runs of a tenant come before a run, counted as far as `most`.
fn ahead(read: &impl Read, tenant_id: TenantId, run_id: RunId, run: &Run, most: usize) -> Result<usize, Failure> {
    let mut before = 0;
    for class in [Class::Ordinary, Class::Deferred].map(tag_of) {
        let ahead = Scan::prefix(&(tenant_id, class)).until(&(tenant_id, class, run.eligible_start, run_id));
        before += read.scan(&WAITING, ahead.limit(most - before))?.len();
    }
    Ok(before)
}

/// When a run may start, and whether a calendar has moved that. What missed its slot while the calendar was open may
/// start when it opens again.
pub(super) fn start(hours: &Hours, now: Timestamp, run: &Run) -> (Timestamp, bool) {
    if run.state == RunState::Scheduled && run.eligible_start <= now {
        let (open, is_moved) = hours.start(now);
        if is_moved {
            return (open, true);
        }
    }
    (run.eligible_start, run.working_hours_applied)
}

/// What holds a waiting run.
pub(super) fn blocked_by(
    read: &impl Read,
    now: Timestamp,
    tenant_id: TenantId,
    run: &Run,
    machine: Machine<'_>,
) -> Result<Option<BlockedBy>, Failure> {
    if run.state != RunState::Scheduled {
        return Ok(None);
    }
    let in_force = quotas::effective(read, tenant_id, machine.ceilings)?;
    if start(&in_force.hours, now, run).0 > now {
        return Ok(Some(BlockedBy::StartTime));
    }
    let share = Share { most: in_force.quotas.max_concurrent_runs, load: loads::of(read, tenant_id)? };
    Ok(if !share.takes(Class::Deferred) {
        Some(BlockedBy::Concurrency)
    } else if !share.takes(run.class) {
        Some(BlockedBy::Reservations)
    } else if !machine.is_engine_up {
        Some(BlockedBy::Engine)
    } else {
        let held = loads::held(read, machine.aside)?;
        let kept = u64::from(machine.keeps_last && held.of(tenant_id) > 0);
        if held.all() + kept >= machine.workers {
            Some(BlockedBy::Workers)
        } else {
            machine.is_disk_short.then_some(BlockedBy::Disk)
        }
    })
}

/// When a run starts, and why not yet.
pub(crate) fn scheduling(
    read: &impl Read,
    now: Timestamp,
    run_key: RunKey,
    run: &Run,
    machine: Machine<'_>,
) -> Result<Scheduling, Failure> {
    // Whoever sees a run is not told of a time before it: while others write, what is known may end just short of it.
    let now = now.max(run.submitted_at);
    let in_force = quotas::effective(read, run_key.0, machine.ceilings)?;
    let start = start(&in_force.hours, now, run);
    let position = position(read, run_key, run)?;
    let blocked_by = blocked_by(read, now, run_key.0, run, machine)?;
    let told = |estimated_start| Scheduling { start, position, blocked_by, estimated_start };
    let (most, workers) = (in_force.quotas.max_concurrent_runs, machine.workers);
    let (slots, others) = match blocked_by {
        None => return Ok(told(run.queued_at.or(turn(run, now)))),
        Some(BlockedBy::StartTime) => return Ok(told(Some(start.0))),
        Some(BlockedBy::Engine | BlockedBy::Disk) => return Ok(told(None)),
        Some(BlockedBy::Concurrency) => (most.min(workers), 0),
        Some(BlockedBy::Reservations) => (most.saturating_sub(loads::of(read, run_key.0)?.deferred).min(workers), 0),
        Some(BlockedBy::Workers) => (workers, others_ahead(read, now, run_key.0, position)?),
    };
    // So many slots come free in the time that a run holds one: the tenant's mean, or, before any has ended, all the
    // time that this one may take.
    let pace = paces::slot_micros(read, run_key.0)?;
    let pace = pace.unwrap_or_else(|| run.limits.timeout_seconds.saturating_mul(1_000_000));
    let turns = u64::try_from(position.unwrap_or(1).saturating_add(others)).unwrap_or(u64::MAX);
    Ok(told(pace.saturating_mul(turns).checked_div(slots).map(|wait| {
        let at = now.plus_micros(i64::try_from(wait).unwrap_or(i64::MAX));
        in_force.hours.start(at).0
    })))
}

/// What lists tell of when a run starts: nothing that is counted for each of them.
pub(crate) fn listed(hours: &Hours, now: Timestamp, run: &Run) -> Scheduling {
    Scheduling { start: start(hours, now, run), position: None, blocked_by: None, estimated_start: run.queued_at }
}

/// The next look of the dispatcher, for a run that waits for nothing else.
fn turn(run: &Run, now: Timestamp) -> Option<Timestamp> {
    (run.state == RunState::Scheduled).then_some(now)
}

/// How many runs of other tenants get a worker before a run of this place in its tenant's queue, counted as far as
/// [`POSITION_MAX`]: tenants take turns, so that none has had more of them by then.
fn others_ahead(
    read: &impl Read,
    now: Timestamp,
    tenant_id: TenantId,
    position: Option<usize>,
) -> Result<usize, Failure> {
    let turns = position.unwrap_or(1);
    let mut before = 0;
    for (other, load) in loads::all(read)? {
        if other == tenant_id || load.waiting + load.deferred == 0 {
            continue;
        }
        let mut waiting = 0;
        for class in [Class::Ordinary, Class::Deferred].map(tag_of) {
            let due = Scan::prefix(&(other, class)).until(&(other, class, now.plus_micros(1), RunId(Uuid::nil())));
            waiting += read.scan(&WAITING, due.limit(turns.min(POSITION_MAX - before)))?.len();
        }
        before += waiting.min(turns);
        if before >= POSITION_MAX {
            return Ok(POSITION_MAX);
        }
    }
    Ok(before)
}
