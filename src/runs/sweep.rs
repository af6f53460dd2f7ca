//! What falls due by the clock is done: each kind by the verb that knows it.
//!
//! What has been kept long enough goes at once with everything that belongs to it: the run, what it was to run, its
//! result, its logs and samples, its events. A transaction takes so much and no more, however much is due.

use std::convert::Infallible;
use std::time::Duration;

use quintet_platform::clock::{BoxFuture, DueWork};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use crate::containers::removal::{EVENTS_AT_ONCE, remove_events, remove_old};
use crate::containers::{hours, late};
use crate::context::Context;
use crate::due::{self, Due};

/// What is looked at in one transaction.
const SLICE: usize = 100;
/// Events removed in one transaction, after which the rest is left to the next one.
const EVENTS_MAX: usize = 2_000;
/// How long one slice may wait for the writer; the clock tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Does what is due, at most a slice of it; how much it saw to.
pub(crate) fn sweep(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Failure> {
    let mut due = due::first(tx, SLICE)?;
    due.retain(|(at, _)| *at <= now);
    let mut events = 0;
    for (at, due) in &due {
        if events >= EVENTS_MAX {
            return Ok(SLICE);
        }
        match *due {
            // The dispatcher is woken by this transaction.
            Due::Eligible(_) => due::clear(tx, *at, *due),
            Due::TooLate(run_key) => {
                due::clear(tx, *at, *due);
                late::too_late(tx, now, run_key)?;
            }
            Due::Old(run_key) => {
                due::clear(tx, *at, *due);
                events += remove_old(tx, now, run_key)?;
            }
            Due::Events(run_key) => {
                let gone = remove_events(tx, run_key)?;
                events += gone;
                if gone < EVENTS_AT_ONCE {
                    due::clear(tx, *at, *due);
                }
            }
            Due::Hours(tenant_id) => {
                // A slice of its own.
                hours::decide_anew(tx, now, tenant_id)?;
                return Ok(SLICE);
            }
        }
    }
    // What was too much for this transaction is due at once.
    Ok(if events >= EVENTS_AT_ONCE { SLICE } else { due.len() })
}

/// Looks at the clock for all runs.
pub(crate) struct Sweep(pub(crate) Context);

impl Sweep {
    async fn sweep_all(&self) {
        loop {
            let verb = |tx: &mut WriteTx<'_>, now| Ok(sweep(tx, now)?);
            let slice: Result<usize, Abort<Infallible>> = self.0.write_freeing(WRITER_TIME, verb).await;
            match slice {
                Ok(seen_to) if seen_to < SLICE => return,
                Ok(_) => {}
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
        match due::first(&self.0.store.read(), 1) {
            Ok(due) => due.first().map(|(at, _)| *at),
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
