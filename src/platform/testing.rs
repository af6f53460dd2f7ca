//! A real store in a directory of its own under a rehearsal clock, for this package's tests.

use std::sync::Arc;

use quintet_storage::seal::{self, KeyRing, RootKey};
use quintet_storage::{Store, StoreOptions, Timestamp};
use tempfile::TempDir;
use zeroize::Zeroizing;

use crate::clock::Clock;

pub(crate) struct TestStore {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) directory: TempDir,
}

impl TestStore {
    /// A new store whose clock stands at `start`.
    pub(crate) fn open(start: Timestamp) -> TestStore {
        TestStore::open_in(tempfile::tempdir().unwrap(), start)
    }

    /// Opens what an earlier one left behind.
    pub(crate) fn open_in(directory: TempDir, start: Timestamp) -> TestStore {
        let clock = Clock::rehearsal(start);
        let mut options = StoreOptions::new(directory.path().join("data"), Arc::new(clock.clone()));
        options.rehearsal = true;
        options.segment_bytes = 4 << 20;
        let store = Store::open(options, &[seal::TABLES, crate::TABLES]).unwrap();
        store.unlock(KeyRing::new(RootKey::new(Zeroizing::new([7; 32])), None)).unwrap();
        clock.resume(&store).unwrap();
        TestStore { store, clock, directory }
    }

    /// Shuts the store down and gives back its directory.
    pub(crate) fn close(mut self) -> TempDir {
        self.store.shutdown();
        std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap())
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        quintet_rows::gather(&self.store.read(), &[seal::TABLES, crate::TABLES]);
        self.store.shutdown();
    }
}
