//! Calls that were rejected are stored as counts, once a minute, by the clock.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Abort, Failure, Store, Timestamp, Uuid, WriteTx};

use super::model::EndpointId;
use super::rows;
use crate::rejections::{Rejected, Rejections};

/// The most endpoints of one transaction.
const SLICE_ROWS: usize = 500;
/// How long a round may wait for the writer; the next one tries again.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// Stores what was rejected.
pub(crate) struct Keeping {
    store: Store,
    rejections: Rejections,
}

impl Keeping {
    pub(crate) fn new(store: Store, rejections: Rejections) -> Keeping {
        Keeping { store, rejections }
    }

    async fn store_slice(&self) -> Result<Progress, Failure> {
        let some = Arc::new(self.rejections.some(SLICE_ROWS));
        let rows = Arc::clone(&some);
        let verb = move |tx: &mut WriteTx<'_>, _| -> Result<(), Abort<Infallible>> {
            Ok(rows.iter().try_for_each(|(id, rejected)| add(tx, EndpointId(Uuid::from_u128(*id)), *rejected))?)
        };
        match self.store.write(Instant::now() + WRITER_TIME, verb).await {
            Ok(()) => {}
            Err(Abort::Failed(failure)) => return Err(failure),
            Err(Abort::Refused(never)) => match never {},
        }
        self.rejections.stored(&some);
        Ok(if some.len() == SLICE_ROWS { Progress::More } else { Progress::Rest })
    }
}

/// Adds to what was rejected of an endpoint, if that is still there.
fn add(tx: &mut WriteTx<'_>, id: EndpointId, rejected: Rejected) -> Result<(), Failure> {
    let Some(agent) = rows::owner(tx, id)? else { return Ok(()) };
    let mut counts = rows::counts(tx, agent)?;
    counts.rejected_signature = counts.rejected_signature.saturating_add(rejected.signature);
    counts.rejected_replay = counts.rejected_replay.saturating_add(rejected.replay);
    counts.rejected_stale = counts.rejected_stale.saturating_add(rejected.stale);
    rows::put_counts(tx, agent, counts)
}

impl Job for Keeping {
    fn name(&self) -> &'static str {
        "messaging.inbound_rejections"
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.rejections.due())
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.store_slice())
    }
}
