//! The dispatcher: which waiting runs get a slot, and in which order.
//!
//! The order is that of `eligible_start`, then of submission, over all tenants. A tenant that may not run more is
//! passed over, as is one whose calendar is closed. Slots that deferred runs have reserved are left to them.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::changes::{change, find};
use super::late::fail_late;
use super::loads;
use super::model::{Class, Run, Share};
use super::tables::{WAITING, tag_of};
use crate::allowances::{Ceilings, quotas};
use crate::model::{RunKey, TenantId};
use crate::states::{Actor, RunState};

/// The runs that can be given a slot now, in order; `workers` is how many slots the machine has, `most` how many runs
/// are looked for.
pub(super) fn choose(
    read: &impl Read,
    now: Timestamp,
    workers: u64,
    ceilings: &Ceilings,
    most: usize,
) -> Result<Vec<RunKey>, Failure> {
    let free = free_slots(read, workers)?.min(most);
    if free == 0 {
        return Ok(Vec::new());
    }
    let loads = loads::all(read)?;
    let mut shares = Vec::new();
    let mut candidates = Vec::new();
    for (tenant_id, load) in loads.into_iter().filter(|(_, load)| load.waiting + load.deferred > 0) {
        let in_force = quotas::effective(read, tenant_id, ceilings)?;
        // A run that missed its slot while the calendar was open waits until it opens again.
        if !in_force.hours.is_open(now) {
            continue;
        }
        let share = Share { most: in_force.quotas.max_concurrent_runs, load };
        for class in [Class::Deferred, Class::Ordinary].into_iter().filter(|class| share.takes(*class)) {
            let due = Scan::prefix(&(tenant_id, tag_of(class))).limit(free);
            for ((_, _, eligible_start, run_id), _) in read.scan(&WAITING, due)? {
                if eligible_start <= now {
                    candidates.push((eligible_start, run_id, class, tenant_id, shares.len()));
                }
            }
        }
        shares.push(share);
    }
    candidates.sort_unstable();
    let mut chosen = Vec::new();
    // A share only ever shrinks on the way, so that one pass finds all of them.
    for (_, run_id, class, tenant_id, share) in candidates {
        if chosen.len() == free {
            break;
        }
        if let Some(share) = shares.get_mut(share).filter(|share| share.takes(class)) {
            share.take(class);
            chosen.push((tenant_id, run_id));
        }
    }
    Ok(chosen)
}

fn free_slots(read: &impl Read, workers: u64) -> Result<usize, Failure> {
    Ok(usize::try_from(workers.saturating_sub(loads::busy(read)?)).unwrap_or(usize::MAX))
}

/// Gives slots to runs that were chosen, as far as they can have them still: the choice was made before, since it looks
/// at all tenants, and others wait for the writer. One that comes too late fails instead.
pub(super) fn dispatch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workers: u64,
    ceilings: &Ceilings,
    chosen: Vec<RunKey>,
) -> Result<Vec<RunKey>, Failure> {
    let mut free = free_slots(tx, workers)?;
    let mut given = Vec::with_capacity(chosen.len());
    for run_key in chosen {
        let waits = |run: &Run| run.state == RunState::Scheduled && run.eligible_start <= now;
        let Some(before) = find(tx, run_key)?.filter(waits) else { continue };
        if free == 0 || !has_share(tx, now, ceilings, run_key.0, before.class)? {
            continue;
        }
        if before.too_late_at() <= now {
            fail_late(tx, now, Actor::Dispatcher, run_key, &before)?;
            continue;
        }
        let run = Run { state: RunState::Queued, queued_at: Some(now), ..before.clone() };
        change(tx, now, Actor::Dispatcher, run_key, Some(&before), run)?;
        free -= 1;
        given.push(run_key);
    }
    Ok(given)
}

/// Whether a tenant can have one more slot for a run of this class, now.
fn has_share(
    read: &impl Read,
    now: Timestamp,
    ceilings: &Ceilings,
    tenant_id: TenantId,
    class: Class,
) -> Result<bool, Failure> {
    let in_force = quotas::effective(read, tenant_id, ceilings)?;
    let share = Share { most: in_force.quotas.max_concurrent_runs, load: loads::of(read, tenant_id)? };
    Ok(in_force.hours.is_open(now) && share.takes(class))
}

/// Takes the slot of a run back whose container was never started: it waits again. Nothing happens to others.
pub(super) fn requeue(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    let Some(before) = find(tx, run_key)? else { return Ok(()) };
    if !matches!(before.state, RunState::Queued | RunState::Pulling) {
        return Ok(());
    }
    let run = Run { state: RunState::Scheduled, queued_at: None, pulling_at: None, ..before.clone() };
    change(tx, now, Actor::Engine, run_key, Some(&before), run)?;
    Ok(())
}
