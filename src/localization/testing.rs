//! A real store under a clock that tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Store, StoreOptions, TimeSource, Timestamp, WriteTx};

use crate::refusal::Refusal;

/// A clock that tests set.
pub(crate) struct HandClock(AtomicI64);

impl TimeSource for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A store in a directory of its own, shut down when it is dropped.
pub(crate) struct Bench {
    pub(crate) store: Store,
    _directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(HandClock(AtomicI64::new(1_700_000_000_000_000)));
        let mut options = StoreOptions::new(directory.path(), clock as Arc<dyn TimeSource>);
        options.segment_bytes = 1 << 20;
        let groups =
            [quintet_storage::seal::TABLES, quintet_storage::large::TABLES, quintet_platform::TABLES, crate::TABLES];
        let store = Store::open(options, &groups).unwrap();
        Bench { store, _directory: directory }
    }

    pub(crate) fn run<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        match self.store.write_blocking(Instant::now() + Duration::from_secs(30), verb) {
            Ok(value) => Ok(value),
            Err(Abort::Refused(refusal)) => Err(refusal),
            Err(Abort::Failed(failure)) => panic!("the store failed: {failure}"),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.store.shutdown();
    }
}
