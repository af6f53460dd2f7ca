//! The store: opens a directory, takes writes, hands out snapshots.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Sender, TrySendError, bounded};

use crate::directory::{DataDirectory, Format};
use crate::env::real::RealDisk;
use crate::error::{Abort, Failure, OpenError};
use crate::log::{self, recovery};
use crate::options::StoreOptions;
use crate::pipeline::Message;
use crate::read::Snapshot;
use crate::rocks::{RocksOptions, RocksProjection};
use crate::seal::Vault;
use crate::shared::Shared;
use crate::space::{FreeSpace, Purpose, Room, free_space_of};
use crate::start::{Running, Started, start};
use crate::stats::StatsReading;
use crate::table::{Registry, TableSpec};
use crate::time::Timestamp;
use crate::tx::WriteTx;
use crate::writer::Verb;

/// The appliance's memory. Clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    requests: Sender<Message>,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    format: Format,
    directory: PathBuf,
    // Released last, after the threads have been joined and the database is closed.
    lock: Mutex<Option<DataDirectory>>,
}

impl Store {
    /// Opens a data directory: locks it, reads the log, brings the tables up to it, starts the threads.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing is changed by an open that fails.
    pub fn open(options: StoreOptions, tables: &[&[TableSpec]]) -> Result<Store, OpenError> {
        let registry = Registry::new(tables)?;
        let mut directory = DataDirectory::open(&options.directory, options.rehearsal)?;
        let disk = RealDisk::new(&directory.path.join(log::DIRECTORY))
            .map_err(|e| OpenError::io("making the log directory", e))?;
        if directory.format.complete {
            recovery::require_log(&disk).map_err(|error| below(&directory.path, error))?;
        }
        let rocks_options = RocksOptions {
            write_buffer_bytes: options.write_buffer_bytes,
            block_cache_bytes: options.block_cache_bytes,
        };
        let projection = RocksProjection::open(&directory.path.join("live"), rocks_options)?;
        let started =
            start(Arc::new(disk), Arc::new(projection), registry, *directory.format.directory_id.as_bytes(), &options)
                .map_err(|error| below(&directory.path, error))?;
        directory.complete()?;
        let free = free_space_of(&directory.path);
        Store::run(started, Some(directory), free, &options)
    }

    /// Starts the threads of a store that recovery has brought up to date. Only a simulated one has no directory.
    pub(crate) fn run(
        started: Started,
        directory: Option<DataDirectory>,
        free: FreeSpace,
        options: &StoreOptions,
    ) -> Result<Store, OpenError> {
        let Running { requests, shared, threads } = started.run(free, options)?;
        let inner = Inner {
            requests,
            shared,
            threads: Mutex::new(threads),
            format: directory.as_ref().map(|directory| directory.format.clone()).unwrap_or_default(),
            directory: options.directory.clone(),
            lock: Mutex::new(directory),
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// The newest published state: durable, and including every write that has been acknowledged.
    #[must_use]
    pub fn read(&self) -> Snapshot {
        self.inner.shared.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest published state and an instant up to which it is complete: every transaction whose time is at or
    /// before it is included. At rest that is the present; while transactions are under way, the instant before the
    /// last published one's (others may share that one's own). `present` is the clock's reading, taken before the call.
    #[must_use]
    pub fn read_now(&self, present: Timestamp) -> (Snapshot, Timestamp) {
        let shared = &self.inner.shared;
        // A transaction that takes its time after that reading cannot be earlier than it, only equal.
        let present = present.plus_micros(-1);
        let is_executing = shared.executing.load(Ordering::SeqCst);
        let executed = shared.executed.load(Ordering::SeqCst);
        let snapshot = self.read();
        let is_at_rest = !is_executing && snapshot.lsn() >= executed;
        let complete_until = if is_at_rest { present.max(snapshot.time()) } else { snapshot.time().plus_micros(-1) };
        (snapshot, complete_until)
    }

    /// Runs a verb on the writer and answers when its outcome, a refusal too, is durable and published.
    /// Waiting ends with [`Failure::Busy`] if the verb has not begun by `deadline`; once begun it runs to its end,
    /// whether or not the caller still waits.
    ///
    /// # Errors
    /// What the verb refused, or why the store failed.
    pub async fn write<T, R, F>(&self, deadline: Instant, verb: F) -> Result<T, Abort<R>>
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    {
        self.write_for(Purpose::Ordinary, deadline, verb).await
    }

    /// [`Store::write`] for what frees something or shuts somebody out (revoking, suspending, erasing, pruning,
    /// collecting): it goes on below the disk reserve, down to a quarter of it.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn write_freeing<T, R, F>(&self, deadline: Instant, verb: F) -> Result<T, Abort<R>>
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    {
        self.write_for(Purpose::Freeing, deadline, verb).await
    }

    async fn write_for<T, R, F>(&self, purpose: Purpose, deadline: Instant, verb: F) -> Result<T, Abort<R>>
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.submit(purpose, deadline, verb, move |outcome| drop(sender.send(outcome)));
        receiver.await.unwrap_or(Err(Abort::Failed(Failure::OutcomeUnknown)))
    }

    /// [`Store::write`] for threads outside the asynchronous runtime.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_blocking<T, R, F>(&self, deadline: Instant, verb: F) -> Result<T, Abort<R>>
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    {
        let (sender, receiver) = bounded(1);
        self.submit(Purpose::Ordinary, deadline, verb, move |outcome| drop(sender.send(outcome)));
        receiver.recv().unwrap_or(Err(Abort::Failed(Failure::OutcomeUnknown)))
    }

    fn submit<T, R, F, A>(&self, purpose: Purpose, deadline: Instant, verb: F, answer: A)
    where
        T: Send + 'static,
        R: Send + 'static,
        F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
        A: FnOnce(Result<T, Abort<R>>) + Send + 'static,
    {
        let work = Box::new(Verb { verb, answer });
        match self.inner.requests.try_send(Message::Write { deadline, purpose, work }) {
            Ok(()) => {}
            Err(TrySendError::Full(Message::Write { work, .. })) => {
                self.inner.shared.stats.turned_away();
                work.turn_away(Failure::Busy);
            }
            Err(TrySendError::Disconnected(Message::Write { work, .. })) => work.turn_away(Failure::Stopped),
            Err(_) => {}
        }
    }

    /// The keys of sealed values.
    pub(crate) fn vault(&self) -> &Arc<Vault> {
        &self.inner.shared.vault
    }

    /// How much room there is on the disk.
    #[must_use]
    pub fn room(&self) -> Room {
        self.inner.shared.room.get()
    }

    /// Why writing has stopped, if it has. Only a restart clears it.
    #[must_use]
    pub fn stop_reason(&self) -> Option<String> {
        self.inner.shared.stop_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the FORMAT file says.
    #[must_use]
    pub fn format(&self) -> &Format {
        &self.inner.format
    }

    /// The data directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// Counters since the start.
    #[must_use]
    pub fn stats(&self) -> StatsReading {
        let mut reading = self.inner.shared.stats.read();
        reading.published_lsn = self.read().lsn();
        reading.queue_depth = self.inner.requests.len() as u64;
        reading
    }

    /// Ends writing in good order: what waits is executed and answered, the tables are flushed, the lock is given
    /// back. Later writes answer [`Failure::Stopped`]. A second call does nothing.
    pub fn shutdown(&self) {
        let threads = std::mem::take(&mut *self.inner.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if threads.is_empty() {
            return;
        }
        drop(self.inner.requests.send(Message::Stop));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a storage thread panicked");
            }
        }
        if !self.inner.shared.is_stopped() {
            self.inner.shared.stopped.store(true, Ordering::SeqCst);
            if let Err(failure) = self.inner.shared.tables.flush() {
                tracing::warn!(%failure, "the last flush failed; the next start reads the log instead");
            }
        }
        drop(self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The last handle is gone without a shutdown: let the threads end by themselves.
        drop(self.requests.try_send(Message::Stop));
    }
}

/// Puts the data directory in front of the path in an error.
fn below(directory: &Path, error: OpenError) -> OpenError {
    match error {
        OpenError::Damaged { file, offset, reason } => {
            OpenError::Damaged { file: directory.join(file), offset, reason }
        }
        other => other,
    }
}
