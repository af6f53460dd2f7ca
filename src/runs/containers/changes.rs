//! The one way a run's state changes: a way of the table of states, with row, indexes, counts and event in one place.

use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::model::Run;
use super::tables::{BUSY, BusyRow, EVENTS, EventRow, RUNS, RunRow, WAITING, WISHES, WaitingKey, WaitingRow, tag_of};
use super::{loads, paces, results, told};
use crate::allowances::meters;
use crate::due::{self, Due};
use crate::model::RunKey;
use crate::states::{Actor, RunState, Transition, transition};

/// A run, if it is this tenant's.
pub(crate) fn find(read: &impl Read, run_key: RunKey) -> Result<Option<Run>, Failure> {
    Ok(read.get(&RUNS, &run_key)?.map(Run::from))
}

/// Bytes written in one transaction after which what is left of much work goes into the next one: what happens to a run is
/// told to all endpoints that ask for it, each with a body of its own.
const BYTES_MAX: usize = 256 << 10;

/// Whether a transaction has written so much that the rest of its work is for the next one.
pub(crate) fn is_long(tx: &WriteTx<'_>) -> bool {
    tx.written_bytes() >= BYTES_MAX
}

/// Writes a run whose state has changed, or that is new. `before` is the run as it is stored. How a run has ended is
/// stored before this says so.
///
/// # Errors
/// The store's failures. It counts as damage, and nothing is written, if `by` cannot take the run that way.
pub(super) fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    by: Actor,
    run_key: RunKey,
    before: Option<&Run>,
    mut run: Run,
) -> Result<Run, Failure> {
    let way = allowed(by, run_key, before, &run)?;
    if let Some(before) = before {
        unindex(tx, run_key, before)?;
    }
    let event_id = tx.new_id();
    let event = EventRow {
        event_id: event_id.into_bytes(),
        event: way.event.to_owned(),
        occurred_at: now,
        state: run.state,
        reason: run.reason,
    };
    tx.put(&EVENTS, &(run_key.0, run_key.1, run.events), &event)?;
    run.events += 1;
    index(tx, now, run_key, &run)?;
    if run.state.is_terminal() {
        meters::settle(tx, run_key, |tx| results::used_seconds(tx, run_key))?;
        if let Some(before) = before.filter(|before| before.state.holds_slot()) {
            paces::note(tx, now, run_key.0, before)?;
        }
        if run.workflow_id.is_some() {
            tx.delete(&WISHES, &run_key.1);
        }
    }
    tx.put(&RUNS, &run_key, &RunRow::from(&run))?;
    told::tell(tx, now, run_key, &run, (way.event, event_id))?;
    Ok(run)
}

/// The way of the table that this change takes.
fn allowed(by: Actor, run_key: RunKey, before: Option<&Run>, run: &Run) -> Result<&'static Transition, Failure> {
    let from = before.map(|before| before.state);
    transition(from, run.state).filter(|way| way.by.contains(&by)).ok_or_else(|| {
        let (from, to) = (from.map_or("nothing", RunState::name), run.state.name());
        Failure::Damaged(format!("run {}: the {} cannot take it from {from} to {to}", run_key.1, by.name()))
    })
}

/// Has a waiting run start at another time than it was to. It stays what it was, and waits for a slot as long as before.
pub(super) fn move_start(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    before: &Run,
    (eligible_start, working_hours_applied): (Timestamp, bool),
) -> Result<(), Failure> {
    unindex(tx, run_key, before)?;
    let patience = i64::try_from(before.queue_patience().as_micros()).unwrap_or(i64::MAX);
    let queue_deadline = eligible_start.plus_micros(patience);
    let run = Run { eligible_start, working_hours_applied, queue_deadline, ..before.clone() };
    index(tx, now, run_key, &run)?;
    tx.put(&RUNS, &run_key, &RunRow::from(&run))
}

/// Takes a run away that is as it is stored, and all that finds it.
pub(super) fn forget(tx: &mut WriteTx<'_>, run_key: RunKey, run: &Run) -> Result<(), Failure> {
    unindex(tx, run_key, run)?;
    meters::settle(tx, run_key, |tx| results::used_seconds(tx, run_key))?;
    tx.delete(&RUNS, &run_key);
    Ok(())
}

/// The key of a waiting run in its queue.
pub(super) fn waiting_key((tenant_id, run_id): RunKey, run: &Run) -> WaitingKey {
    (tenant_id, tag_of(run.class), run.eligible_start, run_id)
}

fn index(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey, run: &Run) -> Result<(), Failure> {
    if run.state == RunState::Scheduled {
        tx.put(&WAITING, &waiting_key(run_key, run), &WaitingRow)?;
        if run.eligible_start > now {
            due::put(tx, run.eligible_start, Due::Eligible(run_key))?;
        }
        due::put(tx, run.too_late_at(), Due::TooLate(run_key))?;
    } else if run.state.holds_slot() {
        tx.put(&BUSY, &run_key.1, &BusyRow { tenant_id: run_key.0 })?;
    } else {
        due::put(tx, run.old_at(), Due::Old(run_key))?;
    }
    loads::count(tx, run_key.0, run, |count| *count += 1)
}

fn unindex(tx: &mut WriteTx<'_>, run_key: RunKey, run: &Run) -> Result<(), Failure> {
    if run.state == RunState::Scheduled {
        tx.delete(&WAITING, &waiting_key(run_key, run));
        if run.eligible_start > run.submitted_at {
            due::clear(tx, run.eligible_start, Due::Eligible(run_key));
        }
        due::clear(tx, run.too_late_at(), Due::TooLate(run_key));
    } else if run.state.holds_slot() {
        tx.delete(&BUSY, &run_key.1);
    } else {
        due::clear(tx, run.old_at(), Due::Old(run_key));
    }
    loads::count(tx, run_key.0, run, |count| *count = count.saturating_sub(1))
}
