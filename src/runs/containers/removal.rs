//! A run goes, with everything that belongs to it: because its caller wants it, or it has been kept long enough.

use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, WriteTx};

use super::archive;
use super::changes::{find, forget};
use super::model::Run;
use super::tables::{DESCRIPTIONS, EVENTS, RESULTS};
use crate::due::{self, Due};
use crate::model::RunKey;
use crate::refusal::Refusal;

/// Events of a run that are removed in one transaction.
pub(crate) const EVENTS_AT_ONCE: usize = 500;

/// Deletes a run that has ended, or has no slot yet.
pub(crate) fn delete(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Abort<Refusal>> {
    let run = find(tx, run_key)?.ok_or(Refusal::NotFound)?;
    // What a node waits for is not taken from it.
    if run.state.holds_slot() || (run.workflow_id.is_some() && !run.state.is_terminal()) {
        return Err(Refusal::RunActive.into());
    }
    remove(tx, now, run_key, &run)?;
    Ok(())
}

/// Takes a run away that has been kept long enough; how many events have gone.
pub(crate) fn remove_old(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<usize, Failure> {
    match find(tx, run_key)? {
        Some(run) if run.state.is_terminal() => remove(tx, now, run_key, &run),
        _ => Ok(0),
    }
}

/// Takes a run away with everything that belongs to it; how many events have gone. Those that are too many for one
/// transaction follow by the sweep.
fn remove(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey, run: &Run) -> Result<usize, Failure> {
    forget(tx, run_key, run)?;
    archive::release(tx, now, run_key)?;
    tx.delete(&RESULTS, &run_key);
    tx.delete(&DESCRIPTIONS, &run_key);
    let gone = remove_events(tx, run_key)?;
    if gone == EVENTS_AT_ONCE {
        due::put(tx, now, Due::Events(run_key))?;
    }
    Ok(gone)
}

/// Takes the first events of a run away, [`EVENTS_AT_ONCE`] if there are so many.
pub(crate) fn remove_events(tx: &mut WriteTx<'_>, run_key: RunKey) -> Result<usize, Failure> {
    let events = tx.scan(&EVENTS, Scan::prefix(&run_key).limit(EVENTS_AT_ONCE))?;
    for (key, _) in &events {
        tx.delete(&EVENTS, key);
    }
    Ok(events.len())
}
