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
use crate::model::RunKey;
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
    let loads = loads::all(read)?;
    let busy: u64 = loads.iter().map(|(_, load)| load.busy).sum();
    let free = usize::try_from(workers.saturating_sub(busy)).unwrap_or(usize::MAX).min(most);
    if free == 0 {
        return Ok(Vec::new());
    }
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

/// Gives slots to the runs whose turn it is. One that comes too late fails instead.
pub(super) fn dispatch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workers: u64,
    ceilings: &Ceilings,
    most: usize,
) -> Result<Vec<RunKey>, Failure> {
    let chosen = choose(tx, now, workers, ceilings, most)?;
    let mut given = Vec::with_capacity(chosen.len());
    for run_key in chosen {
        let Some(before) = find(tx, run_key)? else {
            return Err(Failure::Damaged("a waiting run has no row".to_owned()));
        };
        if before.too_late_at() <= now {
            fail_late(tx, now, Actor::Dispatcher, run_key, &before)?;
            continue;
        }
        let run = Run { state: RunState::Queued, queued_at: Some(now), ..before.clone() };
        change(tx, now, Actor::Dispatcher, run_key, Some(&before), run)?;
        given.push(run_key);
    }
    Ok(given)
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
