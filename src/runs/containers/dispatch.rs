//! The dispatcher: which waiting runs get a slot and a worker, and in which order.
//!
//! Whose turn it is, `shares` says. A tenant that may not run more is passed over, as is one whose calendar is closed.
//! Slots that deferred runs have reserved are left to them. A run that is aside has its slot, and wants a worker alone.

use std::collections::HashMap;

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::changes::{change, find, is_long};
use super::late::fail_late;
use super::loads;
use super::model::{Class, Run, Share};
use super::queue::Machine;
use super::shares::{Slot, Turns, Wants, Wish, divide};
use super::tables::{WAITING, tag_of};
use super::wishes::is_wished;
use crate::allowances::{Ceilings, quotas};
use crate::aside::Aside;
use crate::context::NodeEnds;
use crate::model::{RunKey, TenantId};
use crate::states::{Actor, RunState};

/// The runs that can be given a worker now, in order, `most` of them at most. Of each tenant no more rows are looked at
/// than there are workers to give.
pub(super) fn choose(
    read: &impl Read,
    now: Timestamp,
    machine: Machine<'_>,
    most: usize,
    turns: &mut Turns,
) -> Result<Vec<RunKey>, Failure> {
    let held = loads::held(read, machine.aside)?;
    let free = usize::try_from(machine.workers.saturating_sub(held.all())).unwrap_or(usize::MAX);
    if free.min(most) == 0 {
        return Ok(Vec::new());
    }
    let mut ready: HashMap<TenantId, Vec<Wish>> = HashMap::new();
    for ((tenant_id, run_id), eligible_start) in machine.aside.ready() {
        ready.entry(tenant_id).or_default().push(Wish { slot: Slot::Held, eligible_start, run_id });
    }
    let mut all = Vec::new();
    for (tenant_id, load) in loads::all(read)? {
        let mut wishes = ready.remove(&tenant_id).unwrap_or_default();
        if wishes.is_empty() && load.waiting + load.deferred == 0 {
            continue;
        }
        let in_force = quotas::effective(read, tenant_id, machine.ceilings)?;
        let share = Share { most: in_force.quotas.max_concurrent_runs, load };
        // A run that missed its slot while the calendar was open waits until it opens again.
        if in_force.hours.is_open(now) {
            for class in [Class::Deferred, Class::Ordinary].into_iter().filter(|class| share.takes(*class)) {
                let first = Scan::prefix(&(tenant_id, tag_of(class))).limit(free.min(most));
                let rows = read.scan(&WAITING, first)?.into_iter();
                let wish = |eligible_start, run_id| Wish { slot: Slot::Wanted(class), eligible_start, run_id };
                let wish = rows.map(|((_, _, eligible_start, run_id), _)| wish(eligible_start, run_id));
                wishes.extend(wish.take_while(|wish| wish.eligible_start <= now));
            }
        }
        if !wishes.is_empty() {
            all.push(Wants { tenant_id, held: held.of(tenant_id), share, wishes });
        }
    }
    Ok(divide(all, free, most, machine.keeps_last, turns))
}

/// Gives slots to runs that were chosen, as far as they can have them still: the choice was made before, since it looks
/// at all tenants, and others wait for the writer. One that comes too late fails instead.
pub(super) fn dispatch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workers: u64,
    aside: &Aside,
    ceilings: &Ceilings,
    chosen: Vec<RunKey>,
    node_ends: NodeEnds,
) -> Result<Vec<RunKey>, Failure> {
    let mut free = workers.saturating_sub(loads::held(tx, aside)?.all());
    let mut given = Vec::with_capacity(chosen.len());
    for run_key in chosen {
        if is_long(tx) {
            // The rest is chosen again.
            break;
        }
        let waits = |run: &Run| run.state == RunState::Scheduled && run.eligible_start <= now;
        let Some(before) = find(tx, run_key)?.filter(waits) else { continue };
        // It ends as soon as that can be written.
        if before.workflow_id.is_some() && is_wished(tx, run_key)? {
            continue;
        }
        if free == 0 || !has_share(tx, now, ceilings, run_key.0, before.class)? {
            continue;
        }
        if before.too_late_at() <= now {
            let failed = tx.savepoint(|tx| {
                fail_late(tx, now, Actor::Dispatcher, run_key, &before)?;
                node_ends(tx, now, run_key)?;
                tx.check_size()
            });
            // The clock finds it as well, and puts off what cannot be done; all others get their slots.
            match failed {
                Err(Failure::Damaged(_) | Failure::TooLarge) => {}
                failed => failed?,
            }
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
