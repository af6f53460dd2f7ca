//! What is seen is stored once a minute, by the clock (6-messaging.md, W5).

use quintet_platform::clock::{BoxFuture, Clock};
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Failure, Store, Timestamp};

use super::memory::Attendance;
use super::tables::put;

/// The most rows of one transaction.
const SLICE_ROWS: usize = 500;

/// Stores what attendance has noted.
pub(crate) struct Keeping {
    store: Store,
    clock: Clock,
    attendance: Attendance,
}

impl Keeping {
    pub(crate) fn new(store: Store, clock: Clock, attendance: Attendance) -> Keeping {
        Keeping { store, clock, attendance }
    }

    async fn store_slice(&self) -> Result<Progress, Failure> {
        let attendance = self.attendance.clone();
        let stored = self.attendance.noted().store_some(&self.store, SLICE_ROWS, move |tx, noted| {
            noted.iter().try_for_each(|(agent, _)| put(tx, *agent, attendance.sighting(*agent)))
        });
        let progress = stored.await?;
        if matches!(progress, Progress::Rest) {
            self.attendance.forget_old(self.clock.now());
        }
        Ok(progress)
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
