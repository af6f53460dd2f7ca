//! Counters of the way of a write, for metrics and `status`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the threads count.
#[derive(Default)]
pub(crate) struct Stats {
    committed: AtomicU64,
    not_committed: AtomicU64,
    turned_away: AtomicU64,
    groups: AtomicU64,
    log_bytes: AtomicU64,
    sync_micros: AtomicU64,
    sync_micros_max: AtomicU64,
}

/// The counters at one moment; all but the depth and the LSN count from the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatsReading {
    /// The last published transaction.
    pub published_lsn: u64,
    /// The last transaction that was executed; those above the published one wait for the disk and the tables.
    pub executed_lsn: u64,
    /// The last transaction whose rows the tables have on disk; a start reads the log above it again.
    pub flushed_lsn: u64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that were refused, failed or wrote nothing.
    pub not_committed: u64,
    /// Requests turned away because the writer was busy.
    pub turned_away: u64,
    /// Requests waiting for the writer now.
    pub queue_depth: u64,
    /// Groups written to the log, one sync each.
    pub groups: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Time spent writing and syncing the log, in microseconds.
    pub sync_micros: u64,
    /// The longest single write and sync, in microseconds.
    pub sync_micros_max: u64,
}

impl Stats {
    pub(crate) fn executed(&self, committed: bool) {
        let counter = if committed { &self.committed } else { &self.not_committed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn synced(&self, took: Duration, bytes: u64) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.log_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.sync_micros.fetch_add(micros, Ordering::Relaxed);
        self.sync_micros_max.fetch_max(micros, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> StatsReading {
        StatsReading {
            published_lsn: 0,
            executed_lsn: 0,
            flushed_lsn: 0,
            committed: self.committed.load(Ordering::Relaxed),
            not_committed: self.not_committed.load(Ordering::Relaxed),
            turned_away: self.turned_away.load(Ordering::Relaxed),
            queue_depth: 0,
            groups: self.groups.load(Ordering::Relaxed),
            log_bytes: self.log_bytes.load(Ordering::Relaxed),
            sync_micros: self.sync_micros.load(Ordering::Relaxed),
            sync_micros_max: self.sync_micros_max.load(Ordering::Relaxed),
        }
    }
}
