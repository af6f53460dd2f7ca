//! Collects large values that nobody adopted in time, or that were released (see `quintet_storage::large`).

use std::convert::Infallible;
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Store, Timestamp, large};

use crate::clock::{BoxFuture, DueWork};

/// Chunks removed in one transaction; each is 256 KiB, so that nobody waits long behind it.
const SLICE_CHUNKS: usize = 16;
/// How long one slice may wait for the writer; the next round tries again.
const DEADLINE: Duration = Duration::from_secs(10);

/// The collector. Register it as [`DueWork`].
pub struct LargeValueCollector {
    store: Store,
}

impl LargeValueCollector {
    /// A collector of a store's large values.
    #[must_use]
    pub fn new(store: Store) -> LargeValueCollector {
        LargeValueCollector { store }
    }

    async fn collect_all(&self) {
        loop {
            let verb = |tx: &mut quintet_storage::WriteTx<'_>, now| Ok(large::collect(tx, now, SLICE_CHUNKS)?);
            let slice: Result<usize, Abort<Infallible>> =
                self.store.write_freeing(Instant::now() + DEADLINE, verb).await;
            match slice {
                Ok(0) => return,
                Ok(_) => {}
                Err(Abort::Refused(never)) => match never {},
                Err(Abort::Failed(failure)) => {
                    tracing::warn!(%failure, "large values could not be removed; trying again later");
                    return;
                }
            }
        }
    }
}

impl DueWork for LargeValueCollector {
    fn name(&self) -> &'static str {
        "platform.large_values"
    }

    fn next_due(&self) -> Option<Timestamp> {
        match large::next_deadline(&self.store.read()) {
            Ok(deadline) => deadline,
            Err(failure) => {
                tracing::warn!(%failure, "the deadlines of large values could not be read");
                None
            }
        }
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.collect_all())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Clock;

    #[tokio::test(flavor = "multi_thread")]
    async fn an_upload_nobody_adopts_is_gone_after_its_deadline() {
        let directory = tempfile::tempdir().unwrap();
        let clock = Clock::rehearsal(Timestamp::from_micros(1_700_000_000_000_000));
        let options = quintet_storage::StoreOptions {
            segment_bytes: 8 << 20,
            rehearsal: true,
            ..quintet_storage::StoreOptions::new(directory.path(), Arc::new(clock.clone()))
        };
        let store = Store::open(options, &[large::TABLES, crate::TABLES]).unwrap();
        clock.resume(&store).unwrap();
        clock.register(Arc::new(LargeValueCollector::new(store.clone())));
        let mut upload = large::Upload::begin(&store, 60, DEADLINE).await.unwrap();
        upload.push(&vec![7; 20 * large::CHUNK_BYTES + 1]).await.unwrap();
        let value = upload.finish().await.unwrap();
        clock.advance(59).await.unwrap();
        assert!(large::read_chunk(&store.read(), &value, 20).unwrap().is_some());
        let report = clock.advance(10).await.unwrap();
        assert_eq!(report.steps, 1);
        assert!(large::read_chunk(&store.read(), &value, 20).is_err());
        assert_eq!(clock.next_due(), None);
        store.shutdown();
    }
}
