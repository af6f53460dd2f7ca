//! What is asked about runs: one with its place in the queue, and lists.

use quintet_storage::{Failure, Read, Scan, Timestamp};

use crate::changes::Place;
use crate::dispatch::Room;
use crate::model::{Ceilings, RunId, RunState, TenantId};
use crate::quotas::{self, Hours};
use crate::tables::{DEFERRED, LOADS, ORDINARY, PACES, RUNS, RunRow, WAITING};

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
    Ok(Some(ahead(read, place.0, place.1, row, POSITION_MAX)? + 1))
}

/// How many runs of a tenant come before a run, counted as far as `most` in each class.
fn ahead(read: &impl Read, tenant_id: TenantId, run_id: RunId, row: &RunRow, most: usize) -> Result<usize, Failure> {
    let mut before = 0;
    for class in [ORDINARY, DEFERRED] {
        let ahead = Scan::prefix(&(tenant_id, class)).until(&(tenant_id, class, row.eligible_start, run_id));
        before += read.scan(&WAITING, ahead.limit(most))?.len();
    }
    Ok(before)
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

/// Where a run stands in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// When it may start, and whether a calendar has moved that.
    pub(crate) start: (Timestamp, bool),
    /// Its place in the tenant's queue, from 1; none if it does not wait.
    pub(crate) position: Option<usize>,
    /// What holds it.
    pub(crate) blocked_by: Option<BlockedBy>,
    /// When it got its slot, or will get one, as far as that can be told.
    pub(crate) estimated_start: Option<Timestamp>,
}

/// Where a run stands in its queue.
pub(crate) fn standing(
    read: &impl Read,
    now: Timestamp,
    place: Place,
    row: &RunRow,
    ceilings: &Ceilings,
    workers: u64,
    is_engine_up: bool,
) -> Result<Standing, Failure> {
    let in_force = quotas::effective(read, place.0, ceilings)?;
    let start = start(&in_force.hours, now, row);
    let position = queue_position(read, place, row)?;
    let blocked_by = blocked_by(read, now, place.0, row, ceilings, workers, is_engine_up)?;
    let most = in_force.quotas.max_concurrent_runs;
    let (slots, others) = match blocked_by {
        None => return Ok(Standing { start, position, blocked_by, estimated_start: row.queued_at.or(turn(row, now)) }),
        Some(BlockedBy::StartTime) => {
            return Ok(Standing { start, position, blocked_by, estimated_start: Some(start.0) });
        }
        Some(BlockedBy::Engine) => return Ok(Standing { start, position, blocked_by, estimated_start: None }),
        Some(BlockedBy::Concurrency) => (most.min(workers), 0),
        Some(BlockedBy::Reservations) => {
            let load = read.get(&LOADS, &place.0)?.unwrap_or_default();
            (most.saturating_sub(load.deferred).min(workers), 0)
        }
        Some(BlockedBy::Workers) => (workers, others_ahead(read, place, row)?),
    };
    // So many slots come free in the time that a run holds one: the tenant's mean, or, before any has ended, all the
    // time that this one may take.
    let pace = read.get(&PACES, &place.0)?.map(|pace| pace.slot_micros);
    let pace = pace.unwrap_or_else(|| row.limits.timeout_seconds.saturating_mul(1_000_000));
    let turns = u64::try_from(position.unwrap_or(1).saturating_add(others)).unwrap_or(u64::MAX);
    let estimated_start = pace.saturating_mul(turns).checked_div(slots).map(|wait| {
        let at = now.plus_micros(i64::try_from(wait).unwrap_or(i64::MAX));
        in_force.hours.start(at).0
    });
    Ok(Standing { start, position, blocked_by, estimated_start })
}

/// What lists tell of where a run stands: nothing that is counted for each of them.
pub(crate) fn listed(hours: &Hours, now: Timestamp, row: &RunRow) -> Standing {
    Standing { start: start(hours, now, row), position: None, blocked_by: None, estimated_start: row.queued_at }
}

/// The next look of the dispatcher, for a run that waits for nothing else.
fn turn(row: &RunRow, now: Timestamp) -> Option<Timestamp> {
    (row.state == RunState::Scheduled).then_some(now)
}

/// How many runs of other tenants come before a run, counted as far as [`POSITION_MAX`].
fn others_ahead(read: &impl Read, place: Place, row: &RunRow) -> Result<usize, Failure> {
    let mut before = 0;
    for (tenant_id, load) in read.scan(&LOADS, Scan::all())? {
        if tenant_id != place.0 && load.waiting + load.deferred > 0 {
            before += ahead(read, tenant_id, place.1, row, POSITION_MAX.saturating_sub(before))?;
        }
        if before >= POSITION_MAX {
            break;
        }
    }
    Ok(before)
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
