//! What falls due by the clock: runs that become eligible, have waited too long, or have been kept long enough.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use quintet_platform::clock::{BoxFuture, DueWork};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use crate::changes::{Place, change, find, remove};
use crate::context::Context;
use crate::life::End;
use crate::model::{Reason, RunState};
use crate::tables::{DUE, DUE_OLD, DUE_TOO_LATE, RESULTS, RunRow};

/// Rows looked at in one transaction.
const SLICE: usize = 100;
/// How long one slice may wait for the writer; the clock tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Does what is due, at most a slice of it; how many rows it saw to.
pub(crate) fn sweep(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Failure> {
    let due = tx.scan(&DUE, Scan::all().limit(SLICE))?;
    let due: Vec<_> = due.into_iter().take_while(|((at, ..), _)| *at <= now).collect();
    for (key, row) in &due {
        let (_, kind, run_id) = *key;
        let place = (row.tenant_id, run_id);
        tx.delete(&DUE, key);
        let Some(run) = find(tx, place)? else { continue };
        match kind {
            DUE_TOO_LATE if run.state == RunState::Scheduled => fail_late(tx, now, place, &run)?,
            DUE_OLD if run.state.is_terminal() => remove(tx, now, place, &run)?,
            _ => {}
        }
    }
    Ok(due.len())
}

/// Ends a waiting run whose time is over.
pub(crate) fn fail_late(tx: &mut WriteTx<'_>, now: Timestamp, place: Place, before: &RunRow) -> Result<(), Failure> {
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
