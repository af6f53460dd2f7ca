//! A real store under a clock that tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use quintet_storage::seal::{KeyRing, RootKey};
use quintet_storage::{Abort, Store, StoreOptions, TimeSource, Timestamp, Uuid, WriteTx};

use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::submission::Submit;
use crate::tables::Secrets;

/// Half past noon of some day, UTC.
pub(crate) const NOON: i64 = 1_700_051_400_000_000;

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
    clock: Arc<HandClock>,
    directory: Arc<tempfile::TempDir>,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::open(Arc::new(HandClock(AtomicI64::new(NOON))), Arc::new(tempfile::tempdir().unwrap()))
    }

    /// The same after a restart.
    pub(crate) fn restarted(self) -> Bench {
        let (clock, directory) = (Arc::clone(&self.clock), Arc::clone(&self.directory));
        drop(self);
        Bench::open(clock, directory)
    }

    fn open(clock: Arc<HandClock>, directory: Arc<tempfile::TempDir>) -> Bench {
        let mut options = StoreOptions::new(directory.path(), Arc::clone(&clock) as Arc<dyn TimeSource>);
        options.segment_bytes = 1 << 20;
        let groups =
            [quintet_storage::seal::TABLES, quintet_storage::large::TABLES, quintet_platform::TABLES, crate::TABLES];
        let store = Store::open(options, &groups).unwrap();
        store.unlock(KeyRing::new(RootKey::new(zeroize::Zeroizing::new([7; 32])), None)).unwrap();
        Bench { store, clock, directory }
    }

    /// Lets so many seconds pass.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
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

pub(crate) fn tenant(number: u128) -> TenantId {
    TenantId(Uuid::from_u128(number))
}

/// A plain submission.
pub(crate) fn plain() -> Submit {
    Submit {
        image: "busybox".into(),
        command: vec!["true".into()],
        secrets: Secrets::default(),
        timeout_seconds: None,
        cpu_millicores: None,
        memory_mb: None,
        name: None,
        tags: Vec::new(),
        scheduled_start: None,
        expires_at: None,
        webhook: None,
        key_id: None,
    }
}
