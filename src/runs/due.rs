//! What falls due by the clock: runs that become eligible, have waited too long, or have been kept long enough; and
//! those whose start is decided anew.
//!
//! What has been kept long enough goes at once with everything that belongs to it: the run, what it was to run, its
//! result, its logs and samples, its events. A transaction takes so much and no more, however much is due.
//!
//! A start is decided when a run is submitted, and again, for all that wait, when the calendar changes. Between the two
//! a calendar that closes holds back what is eligible already and moves it only once it would have waited too long: its
//! place in the queue stays, and closing time costs nothing.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use quintet_platform::clock::{BoxFuture, DueWork};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use crate::changes::{EVENTS_AT_ONCE, Place, change, find, move_start, remove, remove_events};
use crate::context::Context;
use crate::life::End;
use crate::model::{Reason, RunId, RunState, TenantId};
use crate::quotas;
use crate::tables::{
    CHANGED_HOURS, ChangedHoursRow, DUE, DUE_EVENTS, DUE_HOURS, DUE_OLD, DUE_TOO_LATE, RESULTS, RunRow, WAITING,
};

/// Rows looked at in one transaction.
const SLICE: usize = 100;
/// Events removed in one transaction, after which the rest is left to the next one.
const EVENTS_MAX: usize = 2_000;
/// How long one slice may wait for the writer; the clock tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Does what is due, at most a slice of it; how many rows it saw to.
pub(crate) fn sweep(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Failure> {
    let due = tx.scan(&DUE, Scan::all().limit(SLICE))?;
    let due: Vec<_> = due.into_iter().take_while(|((at, ..), _)| *at <= now).collect();
    let mut events = 0;
    for (key, row) in &due {
        if events >= EVENTS_MAX {
            return Ok(SLICE);
        }
        let (_, kind, run_id) = *key;
        let place = (row.tenant_id, run_id);
        if kind == DUE_HOURS {
            // A slice of its own.
            decide_anew(tx, now, row.tenant_id)?;
            return Ok(SLICE);
        }
        if kind == DUE_EVENTS {
            let gone = remove_events(tx, place)?;
            events += gone;
            if gone < EVENTS_AT_ONCE {
                tx.delete(&DUE, key);
            }
            continue;
        }
        tx.delete(&DUE, key);
        let Some(run) = find(tx, place)? else { continue };
        match kind {
            DUE_TOO_LATE if run.state == RunState::Scheduled => fail_late(tx, now, place, &run)?,
            DUE_OLD if run.state.is_terminal() => events += remove(tx, now, place, &run)?,
            _ => {}
        }
    }
    // What was too much for this transaction is due at once.
    Ok(if events >= EVENTS_AT_ONCE { SLICE } else { due.len() })
}

/// Decides the starts of the next waiting runs of a tenant anew, by the calendar that it has now.
fn decide_anew(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId) -> Result<(), Failure> {
    let Some(begun) = tx.get(&CHANGED_HOURS, &tenant_id)? else {
        return Err(Failure::Damaged("a calendar that has changed has no row".to_owned()));
    };
    let hours = quotas::hours(tx, tenant_id)?;
    let mut scan = Scan::prefix(&(tenant_id,)).limit(SLICE);
    if let Some((class, eligible_start, run_id)) = begun.after {
        scan = scan.after(&(tenant_id, class, eligible_start, run_id));
    }
    let waiting = tx.scan(&WAITING, scan)?;
    for ((_, _, eligible_start, run_id), _) in &waiting {
        let place = (tenant_id, *run_id);
        // What is eligible keeps its place: the dispatcher holds it back for as long as the calendar is closed.
        if *eligible_start <= now {
            continue;
        }
        let Some(before) = find(tx, place)? else {
            return Err(Failure::Damaged("a waiting run has no row".to_owned()));
        };
        let start = hours.start(before.scheduled_start.map_or(now, |start| start.max(now)));
        if start != (before.eligible_start, before.working_hours_applied) {
            move_start(tx, now, place, &before, start)?;
        }
    }
    match waiting.last() {
        Some(((_, class, eligible_start, run_id), _)) if waiting.len() == SLICE => {
            let after = Some((*class, *eligible_start, *run_id));
            tx.put(&CHANGED_HOURS, &tenant_id, &ChangedHoursRow { after, ..begun })
        }
        _ => {
            tx.delete(&CHANGED_HOURS, &tenant_id);
            tx.delete(&DUE, &(begun.due_at, DUE_HOURS, RunId(tenant_id.0)));
            Ok(())
        }
    }
}

/// Ends a waiting run whose time is over. One that the calendar has kept from starting waits on from its next opening.
pub(crate) fn fail_late(tx: &mut WriteTx<'_>, now: Timestamp, place: Place, before: &RunRow) -> Result<(), Failure> {
    if before.expires_at.is_none_or(|expiry| expiry > now) {
        let start = quotas::hours(tx, place.0)?.start(now);
        if start.0 > now {
            return move_start(tx, now, place, before, start);
        }
    }
    let is_expired = before.expires_at.is_some_and(|expiry| expiry <= before.queue_deadline);
    let (reason, message) = if is_expired {
        (Reason::Expired, "it had not started when expires_at came")
    } else {
        (Reason::QueueTimeout, "it waited longer than max_queue_seconds for a slot")
    };
    let end = End::failed(reason, message, now);
    let row =
        RunRow { state: end.state, reason: end.reason, message: end.message, finished_at: Some(now), ..before.clone() };
    tx.put(&RESULTS, &place, &end.result)?;
    change(tx, now, place, Some(before), row, "run.failed")?;
    Ok(())
}

/// Looks at the clock for all runs.
pub(crate) struct Sweep(pub(crate) Context);

impl Sweep {
    async fn sweep_all(&self) {
        loop {
            let verb = |tx: &mut WriteTx<'_>, now| Ok(sweep(tx, now)?);
            let slice: Result<usize, Abort<Infallible>> =
                self.0.store.write_freeing(Instant::now() + WRITER_TIME, verb).await;
            match slice {
                Ok(rows) => {
                    self.0.changed();
                    if rows < SLICE {
                        return;
                    }
                }
                Err(Abort::Refused(never)) => match never {},
                Err(Abort::Failed(failure)) => {
                    tracing::warn!(%failure, "what is due of runs could not be done; trying again later");
                    return;
                }
            }
        }
    }
}

impl DueWork for Sweep {
    fn name(&self) -> &'static str {
        "runs.due"
    }

    fn next_due(&self) -> Option<Timestamp> {
        match self.0.store.read().scan(&DUE, Scan::all().limit(1)) {
            Ok(rows) => rows.first().map(|((at, ..), _)| *at),
            Err(failure) => {
                tracing::warn!(%failure, "what is due of runs could not be read");
                None
            }
        }
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.sweep_all())
    }
}
