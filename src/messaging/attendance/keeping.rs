//! What is seen is stored once a minute, by the clock (6-messaging.md, W5).

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Failure, Timestamp};

use super::tables::put;
use crate::context::Context;

/// The most rows of one transaction.
const SLICE_ROWS: usize = 500;

/// Stores what attendance has noted.
pub(crate) struct Keeping(Context);

impl Keeping {
    pub(crate) fn new(context: Context) -> Keeping {
        Keeping(context)
    }

    async fn store_slice(&self) -> Result<Progress, Failure> {
        let attendance = self.0.attendance.clone();
        let stored = self.0.attendance.noted().store_some(&self.0.store, SLICE_ROWS, move |tx, noted| {
            noted.iter().try_for_each(|(agent, _)| put(tx, *agent, attendance.sighting(*agent)))
        });
        let progress = stored.await?;
        if matches!(progress, Progress::Rest) {
            self.0.attendance.forget_old(self.0.now());
        }
        Ok(progress)
    }
}

impl Job for Keeping {
    fn name(&self) -> &'static str {
        "messaging.seen"
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.0.attendance.noted().due())
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.store_slice())
    }
}
