//! The one way a run's state changes: row, indexes, counts and event in one place.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx, large};

use crate::model::{RunId, RunState, TenantId};
use crate::tables::{
    ARCHIVES, ArchiveRow, BUSY, BusyRow, DESCRIPTIONS, DUE, DUE_ELIGIBLE, DUE_EVENTS, DUE_OLD, DUE_TOO_LATE, DueRow,
    EVENTS, EventRow, LOADS, LoadRow, Mark, ORDINARY, PACES, PaceRow, RESULTS, RUNS, RunRow, WAITING,
};
use crate::terms;

/// A run of a tenant: its key.
pub(crate) type Place = (TenantId, RunId);

const SECONDS_OF_A_DAY: i64 = 86_400;
/// Events of a run that are removed in one transaction.
pub(crate) const EVENTS_AT_ONCE: usize = 500;
/// How much of the mean the latest run is: one part in so many.
const PACE_PARTS: u64 = 8;

/// When a waiting run has waited too long, or must not start any more.
pub(crate) fn too_late_at(row: &RunRow) -> Timestamp {
    row.expires_at.map_or(row.queue_deadline, |expiry| expiry.min(row.queue_deadline))
}

/// Writes a run whose state has changed, or that is new. `before` is the row as it is stored. How a run has ended is
/// stored before this says so.
pub(crate) fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: Place,
    before: Option<&RunRow>,
    mut row: RunRow,
    event: &str,
) -> Result<RunRow, Failure> {
    if let Some(before) = before {
        unindex(tx, place, before)?;
    }
    let event_id = *tx.new_id().as_bytes();
    let event = EventRow { event_id, event: event.to_owned(), occurred_at: now, state: row.state, reason: row.reason };
    tx.put(&EVENTS, &(place.0, place.1, row.events), &event)?;
    row.events += 1;
    index(tx, now, place, &row)?;
    if row.state.is_terminal() {
        terms::settle(tx, place)?;
        if let Some(before) = before.filter(|before| before.state.holds_slot()) {
            keep_pace(tx, now, place.0, before)?;
        }
    }
    tx.put(&RUNS, &place, &row)?;
    Ok(row)
}

/// Notes how long a run has held its slot.
fn keep_pace(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId, before: &RunRow) -> Result<(), Failure> {
    let held = before.queued_at.map_or(0, |since| now.as_micros().saturating_sub(since.as_micros()));
    let held = u64::try_from(held).unwrap_or(0);
    let slot_micros = match tx.get(&PACES, &tenant_id)? {
        None => held,
        Some(PaceRow { slot_micros: mean }) => mean - mean / PACE_PARTS + held / PACE_PARTS,
    };
    tx.put(&PACES, &tenant_id, &PaceRow { slot_micros })
}

/// Has a waiting run start at another time than it was to. It stays what it was, and waits for a slot as long as before.
pub(crate) fn move_start(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: Place,
    before: &RunRow,
    (eligible_start, working_hours_applied): (Timestamp, bool),
) -> Result<(), Failure> {
    unindex(tx, place, before)?;
    let patience = before.queue_deadline.as_micros().saturating_sub(before.eligible_start.as_micros());
    let queue_deadline = eligible_start.plus_micros(patience);
    let row = RunRow { eligible_start, working_hours_applied, queue_deadline, ..before.clone() };
    index(tx, now, place, &row)?;
    tx.put(&RUNS, &place, &row)
}

/// Takes a run away with everything that belongs to it; how many events have gone. Those that are too many for one
/// transaction follow by the sweep.
pub(crate) fn remove(tx: &mut WriteTx<'_>, now: Timestamp, place: Place, row: &RunRow) -> Result<usize, Failure> {
    unindex(tx, place, row)?;
    terms::settle(tx, place)?;
    if let Some(ArchiveRow::Large(value)) = tx.get(&ARCHIVES, &place)? {
        large::release(tx, now, &value)?;
    }
    tx.delete(&ARCHIVES, &place);
    tx.delete(&RESULTS, &place);
    tx.delete(&DESCRIPTIONS, &place);
    tx.delete(&RUNS, &place);
    let gone = remove_events(tx, place)?;
    if gone == EVENTS_AT_ONCE {
        tx.put(&DUE, &(now, DUE_EVENTS, place.1), &DueRow { tenant_id: place.0 })?;
    }
    Ok(gone)
}

/// Takes the first events of a run away, [`EVENTS_AT_ONCE`] if there are so many.
pub(crate) fn remove_events(tx: &mut WriteTx<'_>, place: Place) -> Result<usize, Failure> {
    let events = tx.scan(&EVENTS, Scan::prefix(&place).limit(EVENTS_AT_ONCE))?;
    for (key, _) in &events {
        tx.delete(&EVENTS, key);
    }
    Ok(events.len())
}

fn index(tx: &mut WriteTx<'_>, now: Timestamp, (tenant_id, run_id): Place, row: &RunRow) -> Result<(), Failure> {
    let due = DueRow { tenant_id };
    if row.state == RunState::Scheduled {
        tx.put(&WAITING, &(tenant_id, row.class, row.eligible_start, run_id), &Mark)?;
        if row.eligible_start > now {
            tx.put(&DUE, &(row.eligible_start, DUE_ELIGIBLE, run_id), &due)?;
        }
        tx.put(&DUE, &(too_late_at(row), DUE_TOO_LATE, run_id), &due)?;
    } else if row.state.holds_slot() {
        tx.put(&BUSY, &run_id, &BusyRow { tenant_id })?;
    } else {
        tx.put(&DUE, &(old_at(row), DUE_OLD, run_id), &due)?;
    }
    count(tx, tenant_id, row, |count| *count += 1)
}

fn unindex(tx: &mut WriteTx<'_>, (tenant_id, run_id): Place, row: &RunRow) -> Result<(), Failure> {
    if row.state == RunState::Scheduled {
        tx.delete(&WAITING, &(tenant_id, row.class, row.eligible_start, run_id));
        if row.eligible_start > row.submitted_at {
            tx.delete(&DUE, &(row.eligible_start, DUE_ELIGIBLE, run_id));
        }
        tx.delete(&DUE, &(too_late_at(row), DUE_TOO_LATE, run_id));
    } else if row.state.holds_slot() {
        tx.delete(&BUSY, &run_id);
    } else {
        tx.delete(&DUE, &(old_at(row), DUE_OLD, run_id));
    }
    count(tx, tenant_id, row, |count| *count = count.saturating_sub(1))
}

/// When an ended run has been kept long enough.
pub(crate) fn old_at(row: &RunRow) -> Timestamp {
    let days = i64::try_from(row.retention_days).unwrap_or(i64::MAX);
    row.finished_at.unwrap_or(row.submitted_at).plus_seconds(days.saturating_mul(SECONDS_OF_A_DAY))
}

/// The row of a tenant that has nothing going is not kept: the dispatcher looks at all of them.
fn count(tx: &mut WriteTx<'_>, tenant_id: TenantId, row: &RunRow, step: impl FnOnce(&mut u64)) -> Result<(), Failure> {
    if row.state.is_terminal() {
        return Ok(());
    }
    let mut load = tx.get(&LOADS, &tenant_id)?.unwrap_or_default();
    match (row.state, row.class) {
        (RunState::Scheduled, ORDINARY) => step(&mut load.waiting),
        (RunState::Scheduled, _) => step(&mut load.deferred),
        _ => step(&mut load.busy),
    }
    if load == LoadRow::default() {
        tx.delete(&LOADS, &tenant_id);
        Ok(())
    } else {
        tx.put(&LOADS, &tenant_id, &load)
    }
}

/// A run, if it is this tenant's.
pub(crate) fn find(read: &impl Read, place: Place) -> Result<Option<RunRow>, Failure> {
    read.get(&RUNS, &place)
}
