//! What is seen is stored once a minute, by the clock (6-messaging.md, W5).

use std::convert::Infallible;
use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Abort, Failure, Store, Timestamp};

use super::memory::Attendance;
use super::tables::put;
use crate::model::AgentKey;

/// The most rows of one transaction.
const SLICE_ROWS: usize = 500;
/// How long a round may wait for the writer; the next one tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Stores what attendance has noted.
pub(crate) struct Keeping {
    store: Store,
    attendance: Attendance,
}

impl Keeping {
    pub(crate) fn new(store: Store, attendance: Attendance) -> Keeping {
        Keeping { store, attendance }
    }

    async fn store_slice(&self) -> Result<Progress, Failure> {
        let taken: Vec<(AgentKey, Timestamp)> = self.attendance.noted().take(SLICE_ROWS);
        let rows: Vec<_> = taken.iter().map(|(agent, _)| (*agent, self.attendance.sighting(*agent))).collect();
        let stored = self.store.write(Instant::now() + WRITER_TIME, move |tx, now| {
            for (agent, sighting) in rows {
                put(tx, agent, sighting)?;
            }
            Ok::<_, Abort<Infallible>>(now)
        });
        match stored.await {
            Ok(_) if taken.len() == SLICE_ROWS => Ok(Progress::More),
            Ok(now) => {
                self.attendance.forget_old(now);
                Ok(Progress::Rest)
            }
            Err(Abort::Refused(never)) => match never {},
            Err(Abort::Failed(failure)) => {
                self.attendance.noted().put_back(taken);
                Err(failure)
            }
        }
    }
}

impl Job for Keeping {
    fn name(&self) -> &'static str {
        "messaging.seen"
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.attendance.noted().due())
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.store_slice())
    }
}
