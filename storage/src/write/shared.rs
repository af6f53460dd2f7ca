//! What the store's threads have in common: the published state, how far each stage is, and whether writing goes on.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::space::RoomState;
use super::stats::Stats;
use super::waking::Waking;
use crate::copies::checkpoint::CopyWindow;
use crate::log::ClosedSegment;
use crate::tables::projection::Projection;
use crate::tables::registry::Registry;
use crate::time::{Lsn, Timestamp};
use crate::vault::Vault;
use crate::view::snapshot::Snapshot;

/// What the threads have in common.
pub(crate) struct Shared {
    pub(crate) tables: Arc<dyn Projection>,
    /// The keys of sealed values.
    pub(crate) vault: Arc<Vault>,
    pub(crate) registry: Registry,
    pub(crate) published: RwLock<Snapshot>,
    /// Those who are told of what is published.
    pub(crate) waking: Waking,
    pub(crate) applied: AtomicU64,
    /// The last transaction that was executed, durable or not.
    pub(crate) executed: AtomicU64,
    /// Whether the writer is executing a transaction, whose time it may have taken already.
    pub(crate) executing: AtomicBool,
    /// A reading of the clock, in microseconds, up to which somebody was told that the state is complete: no transaction
    /// is earlier, though the clock be put back while the process runs. Another start knows the last transaction's time alone.
    pub(crate) promised: AtomicI64,
    pub(crate) stopped: AtomicBool,
    pub(crate) stop_reason: Mutex<Option<String>>,
    pub(crate) house: Mutex<House>,
    pub(crate) house_changed: Condvar,
    pub(crate) room: RoomState,
    pub(crate) copy_window: Mutex<CopyWindow>,
    pub(crate) stats: Stats,
}

impl Shared {
    /// At the start, when everything that is published has been applied.
    pub(crate) fn new(
        tables: Arc<dyn Projection>,
        vault: Arc<Vault>,
        registry: Registry,
        published: Snapshot,
        house: House,
        copy_window: Duration,
    ) -> Shared {
        let last_lsn = published.lsn();
        Shared {
            published: RwLock::new(published),
            tables,
            vault,
            waking: Waking::new(registry.families()),
            registry,
            applied: AtomicU64::new(last_lsn),
            executed: AtomicU64::new(last_lsn),
            executing: AtomicBool::new(false),
            promised: AtomicI64::new(0),
            stopped: AtomicBool::new(false),
            stop_reason: Mutex::new(None),
            house: Mutex::new(house),
            house_changed: Condvar::new(),
            room: RoomState::default(),
            copy_window: Mutex::new(CopyWindow::none_yet(copy_window)),
            stats: Stats::default(),
        }
    }

    pub(crate) fn house(&self) -> MutexGuard<'_, House> {
        self.house.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends writing for good: nothing more is acknowledged, reads keep the last published state.
    pub(crate) fn stop_writing(&self, reason: &str) {
        if !self.stopped.swap(true, Ordering::SeqCst) {
            tracing::error!(reason, "writing has stopped; restart to clear it");
            *self.stop_reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        }
        // Under the lock, or somebody who has just looked would wait for ever.
        let _house = self.house();
        self.house_changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn publish(&self, lsn: Lsn, time: Timestamp) {
        let snapshot = Snapshot::new(self.tables.snapshot(), lsn, time).with_vault(&self.vault);
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

/// What the housekeeping threads are asked to do.
pub(crate) struct House {
    /// Segments that are no longer written to, oldest first.
    pub(crate) closed: Vec<ClosedSegment>,
    /// What the tables hold on disk: without checkpoints, the log below may go.
    pub(crate) flushed: Lsn,
    /// Log that checkpoints need: everything above this stays, whatever the tables have flushed.
    pub(crate) keep_above: Lsn,
    /// Whether segments may have become removable without a flush.
    pub(crate) sweep_wanted: bool,
    /// Log written since the tables were last flushed, in bytes.
    pub(crate) log_bytes_since_flush: u64,
    pub(crate) flush_wanted: bool,
    pub(crate) spare_wanted: bool,
    /// The last group has been applied; the threads end.
    pub(crate) ending: bool,
}

impl House {
    /// The state at the start: the tables hold `flushed` on disk; what was `replayed` is flushed soon, so that
    /// restart after restart does not pile up segments.
    pub(crate) fn at_start(closed: Vec<ClosedSegment>, flushed: Lsn, replayed: bool) -> House {
        House {
            closed,
            flushed,
            keep_above: Lsn::MAX,
            sweep_wanted: true,
            log_bytes_since_flush: 0,
            flush_wanted: replayed,
            spare_wanted: false,
            ending: false,
        }
    }
}
