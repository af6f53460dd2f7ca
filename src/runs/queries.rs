//! What is asked about runs: one with its place in the queue, and lists.

use quintet_storage::{Failure, Read, Scan, Timestamp};

use crate::changes::Place;
use crate::dispatch::Room;
use crate::model::{Ceilings, RunId, RunState, TenantId};
use crate::quotas::{self, Hours};
use crate::tables::{DEFERRED, LOADS, ORDINARY, RUNS, RunRow, WAITING};

/// The furthest place in a queue that is counted exactly.
pub(crate) const POSITION_MAX: usize = 10_000;
/// Rows looked at for one page of a list.
const LOOKED_AT_MAX: usize = 5_000;

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
    /// The machine's slots.
    Workers,
}

impl BlockedBy {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            BlockedBy::StartTime => "start_time",
            BlockedBy::Engine => "engine",
            BlockedBy::Concurrency => "concurrency",
            BlockedBy::Reservations => "reservations",
            BlockedBy::Workers => "workers",
        }
    }
}

/// Its place in the tenant's queue, from 1; none if it does not wait.
pub(crate) fn queue_position(read: &impl Read, place: Place, row: &RunRow) -> Result<Option<usize>, Failure> {
    if row.state != RunState::Scheduled {
        return Ok(None);
    }
    let mut before = 0;
    for class in [ORDINARY, DEFERRED] {
        let ahead = Scan::prefix(&(place.0, class)).until(&(place.0, class, row.eligible_start, place.1));
        before += read.scan(&WAITING, ahead.limit(POSITION_MAX))?.len();
    }
    Ok(Some(before + 1))
}

/// When a run may start, and whether a calendar has moved that. What missed its slot while the calendar was open may
/// start when it opens again.
pub(crate) fn start(hours: &Hours, now: Timestamp, row: &RunRow) -> (Timestamp, bool) {
    if row.state == RunState::Scheduled && row.eligible_start <= now {
        let (open, is_moved) = hours.start(now);
        if is_moved {
            return (open, true);
        }
    }
    (row.eligible_start, row.working_hours_applied)
}

/// What holds a waiting run.
pub(crate) fn blocked_by(
    read: &impl Read,
    now: Timestamp,
    tenant_id: TenantId,
    row: &RunRow,
    ceilings: &Ceilings,
    workers: u64,
    is_engine_up: bool,
) -> Result<Option<BlockedBy>, Failure> {
    if row.state != RunState::Scheduled {
        return Ok(None);
    }
    let in_force = quotas::effective(read, tenant_id, ceilings)?;
    if start(&in_force.hours, now, row).0 > now {
        return Ok(Some(BlockedBy::StartTime));
    }
    let loads = read.scan(&LOADS, Scan::all())?;
    let load = loads.iter().find(|(tenant, _)| *tenant == tenant_id).map(|(_, load)| *load).unwrap_or_default();
    let room = Room { most: in_force.quotas.max_concurrent_runs, busy: load.busy, deferred: load.deferred };
    Ok(if !room.takes(DEFERRED) {
        Some(BlockedBy::Concurrency)
    } else if !room.takes(row.class) {
        Some(BlockedBy::Reservations)
    } else if !is_engine_up {
        Some(BlockedBy::Engine)
    } else if loads.iter().map(|(_, load)| load.busy).sum::<u64>() >= workers {
        Some(BlockedBy::Workers)
    } else {
        None
    })
}

/// How many runs of all tenants hold a slot.
pub(crate) fn busy(read: &impl Read) -> Result<u64, Failure> {
    Ok(read.scan(&LOADS, Scan::all())?.iter().map(|(_, load)| load.busy).sum())
}

/// Which runs are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) state: Option<RunState>,
    pub(crate) tag: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) image: Option<String>,
    pub(crate) workflow_id: Option<[u8; 16]>,
    pub(crate) submitted_after: Option<Timestamp>,
    pub(crate) submitted_before: Option<Timestamp>,
}

impl Filter {
    fn takes(&self, row: &RunRow) -> bool {
        self.state.is_none_or(|state| row.state == state)
            && self.tag.as_ref().is_none_or(|tag| row.tags.contains(tag))
            && self.name.as_ref().is_none_or(|name| row.name.as_ref() == Some(name))
            && self.image.as_ref().is_none_or(|image| row.image == *image)
            && self.workflow_id.is_none_or(|id| row.workflow_id == Some(id))
            && self.submitted_after.is_none_or(|at| row.submitted_at >= at)
            && self.submitted_before.is_none_or(|at| row.submitted_at < at)
    }
}

/// Runs, and behind which of them the next page begins, if there is one.
pub(crate) type Page = (Vec<(RunId, RunRow)>, Option<RunId>);

/// A page of a tenant's runs, newest first, and where the next one begins.
pub(crate) fn list(
    read: &impl Read,
    tenant_id: TenantId,
    filter: &Filter,
    after: Option<RunId>,
    limit: usize,
) -> Result<Page, Failure> {
    let (mut found, mut after, mut looked_at) = (Vec::new(), after, 0);
    loop {
        let mut scan = Scan::prefix(&(tenant_id,)).newest_first().limit(limit.max(64) + 1);
        if let Some(after) = after {
            scan = scan.after(&(tenant_id, after));
        }
        let rows = read.scan(&RUNS, scan)?;
        let is_last = rows.len() <= limit.max(64);
        for ((_, run_id), row) in rows {
            // Runs come newest first: all that follow are older still.
            if filter.submitted_after.is_some_and(|at| row.submitted_at < at) {
                return Ok((found, None));
            }
            if filter.takes(&row) {
                if found.len() == limit {
                    return Ok((found, after));
                }
                found.push((run_id, row));
            }
            (after, looked_at) = (Some(run_id), looked_at + 1);
        }
        if is_last {
            return Ok((found, None));
        }
        if looked_at >= LOOKED_AT_MAX {
            return Ok((found, after));
        }
    }
}
