//! The store: opens a directory, takes writes, hands out snapshots.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Sender, TrySendError, bounded, unbounded};
use tokio::sync::watch;

use super::keeper::{KeeperRequest, KeeperThread};
use super::options::StoreOptions;
use super::start::{Running, Started};
use crate::copies::checkpoint::{CopyWindow, HeldCheckpoint, Keeper};
use crate::directory::format::Format;
use crate::directory::lock::DataDirectory;
use crate::error::{Abort, Failure, OpenError};
use crate::tables::family::Family;
use crate::time::{Lsn, Timestamp};
use crate::vault::Vault;
use crate::view::overlay::Overlay;
use crate::view::snapshot::{SNAPSHOT_LIFETIME, Snapshot};
use crate::write::pipeline::Message;
use crate::write::shared::Shared;
use crate::write::space::{FreeSpace, Purpose, Room};
use crate::write::stats::StatsReading;
use crate::write::tx::WriteTx;
use crate::write::waking::{DueListener, ToldListener};
use crate::write::writer::Verb;

/// For how long a view of a checkpoint holds it at most.
const LONG_VIEW_SECONDS: u64 = 24 * 60 * 60;

/// The appliance's memory. Clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    requests: Sender<Message>,
    keeper_requests: Sender<KeeperRequest>,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    format: Format,
    directory: PathBuf,
    // Released last, after the threads have been joined and the database is closed.
    lock: Mutex<Option<DataDirectory>>,
}

impl Store {
    /// Starts the threads of a store that recovery has brought up to date. Only a simulated one has no directory.
    pub(crate) fn run(
        started: Started,
        directory: Option<(DataDirectory, Keeper)>,
        free: FreeSpace,
        options: &StoreOptions,
    ) -> Result<Store, OpenError> {
        let (keeper_requests, requests) = unbounded();
        let (directory, keeper) = directory.unzip();
        let keeper = keeper.map(|keeper| KeeperThread {
            keeper,
            data: options.directory.clone(),
            requests,
            segment_bytes: options.segment_bytes,
            interval: options.copy_window / 8,
        });
        let Running { requests, shared, threads } = started.run(free, keeper, options)?;
        let inner = Inner {
            requests,
            keeper_requests,
            shared,
            threads: Mutex::new(threads),
            format: directory.as_ref().map(|directory| directory.format.clone()).unwrap_or_default(),
            directory: options.directory.clone(),
            lock: Mutex::new(directory),
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// For how long plain copies of the directory are safe.
    #[must_use]
    pub fn copy_window(&self) -> CopyWindow {
        *self.inner.shared.copy_window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a checkpoint of everything that has been acknowledged and keeps it for `seconds` at least. Blocks.
    ///
    /// # Errors
    /// Why it could not be made.
    pub fn hold_checkpoint(&self, seconds: u64) -> Result<HeldCheckpoint, String> {
        self.ask_keeper(|answer| KeeperRequest::Hold { seconds, answer })
    }

    /// Keeps a held checkpoint for `seconds` from now at least. Blocks.
    ///
    /// # Errors
    /// It is gone.
    pub fn extend_checkpoint(&self, lsn: Lsn, seconds: u64) -> Result<HeldCheckpoint, String> {
        self.ask_keeper(|answer| KeeperRequest::Extend { lsn, seconds, answer })
    }

    /// Gives a held checkpoint back.
    pub fn release_checkpoint(&self, lsn: Lsn) {
        drop(self.inner.keeper_requests.send(KeeperRequest::Release { lsn }));
    }

    /// The present state for work that takes longer than a snapshot lives, as a proof over everything does: it is read
    /// from a checkpoint, which is held as long as the view lives. Blocks.
    ///
    /// # Errors
    /// Why the checkpoint could not be made or read.
    pub fn long_view(&self) -> Result<LongView, String> {
        let held = self.hold_checkpoint(LONG_VIEW_SECONDS)?;
        let view = Overlay::open(&held.path).map(|view| view.into_snapshot().with_vault(self.vault()));
        // Given back by the view's end, or here.
        let release = Release { store: self.clone(), lsn: held.lsn };
        Ok(LongView { snapshot: view.map_err(|error| error.to_string())?, _release: release })
    }

    fn ask_keeper(
        &self,
        request: impl FnOnce(Sender<Result<HeldCheckpoint, String>>) -> KeeperRequest,
    ) -> Result<HeldCheckpoint, String> {
        let (answer, receiver) = bounded(1);
        drop(self.inner.keeper_requests.send(request(answer)));
        receiver.recv().unwrap_or_else(|_| Err("the store has ended".to_owned()))
    }

    /// The newest published state: durable, and including every write that has been acknowledged.
    #[must_use]
    pub fn read(&self) -> Snapshot {
        let published = self.inner.shared.published.read().unwrap_or_else(PoisonError::into_inner).clone();
        published.until(Instant::now() + SNAPSHOT_LIFETIME)
    }

    /// The newest published state and an instant up to which it is complete: every transaction whose time is at or
    /// before it is included. At rest that is the present; while transactions are under way, the instant before the
    /// last published one's (others may share that one's own). `present` is the clock's reading, taken before the call. A
    /// clock that is put back while the process does not run takes the instants back that lie behind the last transaction.
    #[must_use]
    pub fn read_now(&self, present: Timestamp) -> (Snapshot, Timestamp) {
        let shared = &self.inner.shared;
        // A transaction that takes its time after this cannot be earlier, only equal.
        shared.promised.fetch_max(present.as_micros(), Ordering::SeqCst);
        let present = present.plus_micros(-1);
        let is_executing = shared.executing.load(Ordering::SeqCst);
        let executed = shared.executed.load(Ordering::SeqCst);
        let snapshot = self.read();
        let is_at_rest = !is_executing && snapshot.lsn() >= executed;
        let complete_until = if is_at_rest { present.max(snapshot.time()) } else { snapshot.time().plus_micros(-1) };
        (snapshot, complete_until)
    }

    /// Follows a family: the last published group that wrote to it, by its last transaction; 0 before the first since
    /// the start. Told before the writers of that group have their answers. The channel closes when the store is gone.
    #[must_use]
    pub fn changes(&self, family: Family) -> watch::Receiver<Lsn> {
        self.inner.shared.waking.changes(family)
    }

    /// Sets who is told what verbs let fall due ([`WriteTx::falls_due`]): for each published group and each tag noted in
    /// it the earliest instant, before the answers are given. The call comes from the thread that applies groups: it
    /// must only note and return. There is one listener; a second is not called. One that holds the store keeps it
    /// alive.
    pub fn on_due(&self, listener: DueListener) {
        self.inner.shared.waking.set_on_due(listener);
    }

    /// Sets who is told the notes of one topic ([`WriteTx::tells`]): for each published group and each `of` noted in it
    /// the greatest number, in the order of `of`, before the answers are given. The call comes from the thread that
    /// applies groups: it must only note and return. There is one listener a topic; a second is not called, and what has
    /// none is dropped. One that holds the store keeps it alive.
    pub fn on_told(&self, topic: u16, listener: ToldListener) {
        self.inner.shared.waking.set_on_told(topic, listener);
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

    /// [`Store::write_freeing`] that nobody waits for, from any thread: what becomes of it is not told.
    pub(crate) fn free_unattended<R, F>(&self, deadline: Instant, verb: F)
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<(), Abort<R>> + Send + 'static,
    {
        self.submit(Purpose::Freeing, deadline, verb, drop);
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

    /// Writes FORMAT as [`Store::format`] has it, durably.
    pub(super) fn note_format(&self) -> Result<(), OpenError> {
        let directory = self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner);
        directory.as_ref().map_or(Ok(()), DataDirectory::note)
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
        let shared = &self.inner.shared;
        let mut reading = shared.stats.read();
        reading.published_lsn = self.read().lsn();
        // What is executed may fail to be published; it is never less than what was.
        reading.executed_lsn = shared.executed.load(Ordering::Acquire).max(reading.published_lsn);
        reading.flushed_lsn = shared.house().flushed.min(reading.published_lsn);
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
        drop(self.inner.keeper_requests.send(KeeperRequest::Stop));
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

/// A state of all tables that may be read for as long as it takes.
pub struct LongView {
    snapshot: Snapshot,
    _release: Release,
}

impl LongView {
    /// The rows.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// Gives a held checkpoint back.
struct Release {
    store: Store,
    lsn: Lsn,
}

impl Drop for Release {
    fn drop(&mut self) {
        self.store.release_checkpoint(self.lsn);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The last handle is gone without a shutdown: the threads end, and only then is the lock given back.
        drop(self.requests.send(Message::Stop));
        drop(self.keeper_requests.send(KeeperRequest::Stop));
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // One of them may have been the last to hold the store.
        if std::thread::current().name().is_some_and(|name| name.starts_with("store-")) {
            return;
        }
        for thread in threads {
            drop(thread.join());
        }
    }
}
