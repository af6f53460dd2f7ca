//! Collects large values that nobody adopted in time, or that were released (see `quintet_storage::large`).

use quintet_storage::{Failure, Snapshot, Timestamp, WriteTx, large};

use crate::jobs::{Agenda, Progress, Swept};

/// Chunks removed in one transaction; each is 256 KiB, so that nobody waits long behind it.
const SLICE_CHUNKS: usize = 16;

/// The large values that have a deadline, for nobody owns them.
pub struct UnownedValues;

impl Agenda for UnownedValues {
    /// Deadlines are given freely, so no place is ever left behind.
    type Place = ();

    const NAME: &'static str = "platform.large_values";
    const TAG: u16 = large::DEADLINES_TAG;
    const IS_FREEING: bool = true;
    const FIRST: () = ();

    fn next(&self, read: &Snapshot, (): ()) -> Result<Option<Timestamp>, Failure> {
        large::next_deadline(read)
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, (): ()) -> Result<Swept<()>, Failure> {
        let removed = large::collect(tx, now, SLICE_CHUNKS)?;
        Ok(Swept { to: None, progress: if removed == 0 { Progress::Rest } else { Progress::More } })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use quintet_storage::Store;

    use super::*;
    use crate::clock::Clock;
    use crate::jobs::{Rows, Sweep};

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
        clock.register(Arc::new(Sweep(Rows::new(store.clone(), UnownedValues))));
        let mut upload = large::Upload::begin(&store, 60, Duration::from_secs(10)).await.unwrap();
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
