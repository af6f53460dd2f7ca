//! The dispatcher: which waiting runs get a slot, and in which order.
//!
//! The order is that of `eligible_start`, then of submission, over all tenants. A tenant that may not run more is
//! passed over, as is one whose calendar is closed. Slots that deferred runs have reserved are left to them.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use crate::changes::{Place, change, find, too_late_at};
use crate::due::fail_late;
use crate::model::{Ceilings, RunState};
use crate::quotas;
use crate::tables::{DEFERRED, LOADS, ORDINARY, RunRow, WAITING};

/// The runs that can be given a slot now, in order; `workers` is how many slots the machine has, `most` how many runs
/// are looked for.
pub(crate) fn choose(
    read: &impl Read,
    now: Timestamp,
    workers: u64,
    ceilings: &Ceilings,
    most: usize,
) -> Result<Vec<Place>, Failure> {
    let loads = read.scan(&LOADS, Scan::all())?;
    let busy: u64 = loads.iter().map(|(_, load)| load.busy).sum();
    let free = usize::try_from(workers.saturating_sub(busy)).unwrap_or(usize::MAX).min(most);
    if free == 0 {
        return Ok(Vec::new());
    }
    let mut rooms = Vec::new();
    let mut candidates = Vec::new();
    for (tenant_id, load) in loads.into_iter().filter(|(_, load)| load.waiting + load.deferred > 0) {
        let in_force = quotas::effective(read, tenant_id, ceilings)?;
        // A run that missed its slot while the calendar was open waits until it opens again.
        if !in_force.hours.is_open(now) {
            continue;
        }
        let room = Room { most: in_force.quotas.max_concurrent_runs, busy: load.busy, deferred: load.deferred };
        for class in [DEFERRED, ORDINARY].into_iter().filter(|class| room.takes(*class)) {
            let due = Scan::prefix(&(tenant_id, class)).limit(free);
            for ((_, _, eligible_start, run_id), _) in read.scan(&WAITING, due)? {
                if eligible_start <= now {
                    candidates.push((eligible_start, run_id, class, tenant_id, rooms.len()));
                }
            }
        }
        rooms.push(room);
    }
    candidates.sort_unstable();
    let mut chosen = Vec::new();
    // Room only ever shrinks on the way, so that one pass finds all of them.
    for (_, run_id, class, tenant_id, room) in candidates {
        if chosen.len() == free {
            break;
        }
        if let Some(room) = rooms.get_mut(room).filter(|room| room.takes(class)) {
            room.take(class);
            chosen.push((tenant_id, run_id));
        }
    }
    Ok(chosen)
}

/// How much a tenant may still run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// `max_concurrent_runs`.
    pub(crate) most: u64,
    /// Runs that hold a slot.
    pub(crate) busy: u64,
    /// Runs that have a slot reserved.
    pub(crate) deferred: u64,
}

impl Room {
    /// Whether a run of this class can have a slot.
    pub(crate) fn takes(&self, class: u8) -> bool {
        let reserved = if class == DEFERRED { 0 } else { self.deferred.min(self.most) };
        self.busy + reserved < self.most
    }

    fn take(&mut self, class: u8) {
        self.busy += 1;
        if class == DEFERRED {
            self.deferred = self.deferred.saturating_sub(1);
        }
    }
}

/// Gives slots to the runs whose turn it is. One that comes too late fails instead.
pub(crate) fn dispatch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workers: u64,
    ceilings: &Ceilings,
    most: usize,
) -> Result<Vec<Place>, Failure> {
    let chosen = choose(tx, now, workers, ceilings, most)?;
    let mut given = Vec::with_capacity(chosen.len());
    for place in &chosen {
        let Some(before) = find(tx, *place)? else {
            return Err(Failure::Damaged("a waiting run has no row".to_owned()));
        };
        if too_late_at(&before) <= now {
            fail_late(tx, now, *place, &before)?;
            continue;
        }
        let row = RunRow { state: RunState::Queued, queued_at: Some(now), ..before.clone() };
        change(tx, now, *place, Some(&before), row, "run.queued")?;
        given.push(*place);
    }
    Ok(given)
}

/// Takes the slot of a run back whose container was never started: it waits again. Nothing happens to others.
pub(crate) fn requeue(tx: &mut WriteTx<'_>, now: Timestamp, place: Place) -> Result<(), Failure> {
    let Some(before) = find(tx, place)? else { return Ok(()) };
    if !matches!(before.state, RunState::Queued | RunState::Pulling) {
        return Ok(());
    }
    let row = RunRow { state: RunState::Scheduled, queued_at: None, pulling_at: None, ..before.clone() };
    change(tx, now, place, Some(&before), row, "run.scheduled")?;
    Ok(())
}
