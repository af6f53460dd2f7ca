//! What the tests of the rooms share: a real store under a clock that they set, and a tenant with a key in it.
//!
//! Everything here panics where it cannot go on: a test that cannot be set up has failed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they mean by failing loudly"
)]

pub mod engine;

use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use quintet_platform::access::{
    AccessRefusal, CreateTenant, IssueKey, PreparedSecret, Service, Services, create_tenant, issue_key,
};
use quintet_platform::clock::Clock;
use quintet_platform::service::Turns;
use quintet_storage::seal::{KeyRing, RootKey};
use quintet_storage::{Abort, Refusal, Store, StoreOptions, TableSpec, TimeSource, Timestamp, Uuid, WriteTx};
use tempfile::TempDir;
use zeroize::Zeroizing;

/// How long a test waits for the store.
const PATIENCE: Duration = Duration::from_secs(30);
/// A file of the log: most tests write little, and a file is made whole.
const SMALL_SEGMENT_BYTES: u64 = 1 << 20;

/// A clock that tests set.
#[derive(Debug)]
pub struct HandClock(AtomicI64);

impl HandClock {
    /// Lets so many seconds pass.
    pub fn advance(&self, seconds: i64) {
        self.advance_micros(seconds * 1_000_000);
    }

    /// Lets so many microseconds pass.
    pub fn advance_micros(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl TimeSource for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A store that is shut down when it is dropped.
pub struct OpenStore(Store, &'static [TableSpec]);

impl std::ops::Deref for OpenStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        quintet_rows::gather(&self.0.read(), &groups(self.1));
        self.0.shutdown();
    }
}

/// A store with the platform's and a room's tables in a directory of its own, under a clock that tests set; `R` is how
/// the room refuses.
pub struct Bench<R> {
    /// The store.
    pub store: OpenStore,
    /// Its clock.
    pub clock: Arc<HandClock>,
    directory: TempDir,
    tables: &'static [TableSpec],
    segment_bytes: u64,
    after_each: Mutex<Option<AfterEach>>,
    refusal: PhantomData<R>,
}

/// What is done after each transaction, with the directory.
pub type AfterEach = Box<dyn FnMut(&Path) + Send>;

impl<R: Refusal + Send + 'static> Bench<R> {
    /// A new one, whose clock stands at so many microseconds since 1970.
    #[must_use]
    pub fn new(tables: &'static [TableSpec], start_micros: i64) -> Bench<R> {
        let clock = Arc::new(HandClock(AtomicI64::new(start_micros)));
        Bench::open(tempfile::tempdir().unwrap(), clock, tables, SMALL_SEGMENT_BYTES)
    }

    /// A new one whose log takes transactions as large as the product's does.
    #[must_use]
    pub fn large(tables: &'static [TableSpec], start_micros: i64) -> Bench<R> {
        let clock = Arc::new(HandClock(AtomicI64::new(start_micros)));
        Bench::open(tempfile::tempdir().unwrap(), clock, tables, StoreOptions::SEGMENT_BYTES)
    }

    fn open(directory: TempDir, clock: Arc<HandClock>, tables: &'static [TableSpec], segment_bytes: u64) -> Bench<R> {
        let mut options = StoreOptions::new(directory.path(), Arc::clone(&clock) as Arc<dyn TimeSource>);
        options.segment_bytes = segment_bytes;
        let store = open_store(options, tables);
        let (store, after_each) = (OpenStore(store, tables), Mutex::new(None));
        Bench { store, clock, directory, tables, segment_bytes, after_each, refusal: PhantomData }
    }

    /// Has something done after each transaction that wrote, before anybody hears of it; or nothing any more.
    pub fn after_each(&self, then: Option<AfterEach>) {
        *self.after_each.lock().unwrap() = then;
    }

    /// One like this, of a copy of its directory, whose clock stands at this instant.
    #[must_use]
    pub fn of_copy(&self, copy: TempDir, at: Timestamp) -> Bench<R> {
        let clock = Arc::new(HandClock(AtomicI64::new(at.as_micros())));
        Bench::open(copy, clock, self.tables, self.segment_bytes)
    }

    /// Closed and opened again, at the same instant.
    #[must_use]
    pub fn restarted(self) -> Bench<R> {
        let Bench { store, clock, directory, tables, segment_bytes, .. } = self;
        drop(store);
        Bench::open(directory, clock, tables, segment_bytes)
    }

    /// Where it lies.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The instant at which its clock stands.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Runs a transaction.
    ///
    /// # Errors
    /// As it was refused; a failure of the store ends the test.
    pub fn run<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    ) -> Result<T, R> {
        let has_written = Arc::new(AtomicBool::new(false));
        let notes = Arc::clone(&has_written);
        let noted = move |tx: &mut WriteTx<'_>, now| {
            let ended = verb(tx, now);
            notes.store(tx.written_bytes() > 0, Ordering::SeqCst);
            ended
        };
        match self.store.write_blocking(Instant::now() + PATIENCE, noted) {
            Ok(value) => {
                let mut then = self.after_each.lock().unwrap();
                if let Some(then) = then.as_mut().filter(|_| has_written.load(Ordering::SeqCst)) {
                    then(self.directory.path());
                }
                Ok(value)
            }
            Err(Abort::Refused(refusal)) => Err(refusal),
            Err(Abort::Failed(failure)) => panic!("the store failed: {failure}"),
        }
    }
}

/// Copies a directory as a backup does, while its store runs: file by file.
#[must_use]
pub fn copy_of(directory: &Path) -> TempDir {
    fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            let to = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                std::fs::create_dir(&to)?;
                copy(&entry.path(), &to)?;
            } else {
                std::fs::copy(entry.path(), &to)?;
            }
        }
        Ok(())
    }
    loop {
        let to = tempfile::tempdir().unwrap();
        match copy(directory, to.path()) {
            Ok(()) => return to,
            // A file of the tables went meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("the directory cannot be copied: {error}"),
        }
    }
}

/// A store for a room's listener: in a directory of its own, under the system's clock.
#[must_use]
pub fn store_of_a_room(tables: &'static [TableSpec]) -> (TempDir, Store, Clock) {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::system();
    let store = open_store(StoreOptions::new(directory.path(), Arc::new(clock.clone())), tables);
    (directory, store, clock)
}

/// A store for a room's listener: in a directory of its own, under a rehearsal clock that stands at so many microseconds
/// since 1970 and moves when it is told.
#[must_use]
pub fn rehearsal_of_a_room(tables: &'static [TableSpec], start_micros: i64) -> (TempDir, OpenStore, Clock) {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::rehearsal(Timestamp::from_micros(start_micros));
    let mut options = StoreOptions::new(directory.path(), Arc::new(clock.clone()));
    options.segment_bytes = SMALL_SEGMENT_BYTES;
    let store = open_store(options, tables);
    clock.resume(&store).unwrap();
    (directory, OpenStore(store, tables), clock)
}

/// All tables of a room's store.
fn groups(tables: &'static [TableSpec]) -> [&'static [TableSpec]; 4] {
    [quintet_storage::seal::TABLES, quintet_storage::large::TABLES, quintet_platform::TABLES, tables]
}

fn open_store(options: StoreOptions, tables: &'static [TableSpec]) -> Store {
    let store = Store::open(options, &groups(tables)).unwrap();
    store.unlock(KeyRing::new(RootKey::new(Zeroizing::new([7; 32])), None)).unwrap();
    store
}

/// A transaction of the set-up, which must not be refused.
pub fn write<T: Send + 'static, R: Refusal + Send + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
) -> T {
    store.write_blocking(Instant::now() + PATIENCE, verb).unwrap_or_else(|_| panic!("the set-up was refused"))
}

/// A new tenant of one service, and a key with these permissions.
#[must_use]
pub fn tenant_and_key(store: &Store, service: Service, permissions: &[&str]) -> (Uuid, String) {
    let secret = PreparedSecret::draw();
    let permissions = permissions.iter().map(|text| (*text).to_owned()).collect();
    let issued = write(store, move |tx, now| -> Result<_, Abort<AccessRefusal>> {
        let services = Services::from(service);
        let tenant = create_tenant(tx, now, CreateTenant { id: None, name: "t".into(), services, parent: None })?;
        let key = IssueKey {
            tenant_id: tenant.tenant_id,
            principal_id: None,
            label: String::new(),
            permissions,
            ttl_days: None,
            secret,
        };
        issue_key(tx, now, key)
    });
    (issued.tenant_id, issued.api_key.expose().clone())
}

/// Takes all turns, each for another tenant, until what it gives is dropped.
pub async fn take_all(turns: &Turns, at_once: usize) -> Vec<mpsc::Sender<()>> {
    let mut taken = Vec::new();
    for number in 0..at_once {
        let tenant_id = Uuid::from_u128(number as u128);
        let (turns, (go, wait), (begin, begun)) = (turns.clone(), mpsc::channel(), tokio::sync::oneshot::channel());
        tokio::spawn(async move {
            let work = move || {
                let _ = begin.send(());
                let _ = wait.recv();
            };
            turns.take(tenant_id, work).await
        });
        begun.await.unwrap();
        taken.push(go);
    }
    taken
}
