//! How a store is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::log;
use crate::time::TimeSource;

/// How a store is opened.
#[derive(Clone)]
pub struct StoreOptions {
    /// The data directory; made if absent or empty.
    pub directory: PathBuf,
    /// Where the writer gets the time from.
    pub time: Arc<dyn TimeSource>,
    /// Whether the directory lives under a rehearsal clock; must be what it was made with.
    pub rehearsal: bool,
    /// The size of a log segment, in bytes.
    pub segment_bytes: u64,
    /// The tables are flushed when so much log has gathered since the last flush, in bytes; at twice as much,
    /// writing waits. It bounds what a restart replays.
    pub flush_log_bytes: u64,
    /// All of RocksDB's memtables together, in bytes.
    pub write_buffer_bytes: usize,
    /// RocksDB's block cache, in bytes.
    pub block_cache_bytes: usize,
    /// The most one transaction may write, in bytes.
    pub transaction_bytes_max: usize,
    /// How long a plain copy of the directory may take and still open.
    pub copy_window: Duration,
    /// The most that is kept on disk for copies alone, in bytes; 0: a tenth of the disk, 8 GiB at most.
    pub copy_bytes_max: u64,
    /// Below this much free space on the disk writes are refused, in bytes; 0: never.
    pub disk_reserve_bytes: u64,
}

impl StoreOptions {
    /// The size of a log segment unless something else is asked for, in bytes.
    pub const SEGMENT_BYTES: u64 = log::SEGMENT_BYTES;

    /// The defaults for a directory.
    #[must_use]
    pub fn new(directory: impl AsRef<Path>, time: Arc<dyn TimeSource>) -> StoreOptions {
        StoreOptions {
            directory: directory.as_ref().to_owned(),
            time,
            rehearsal: false,
            segment_bytes: Self::SEGMENT_BYTES,
            flush_log_bytes: 64 << 20,
            write_buffer_bytes: 64 << 20,
            block_cache_bytes: 64 << 20,
            transaction_bytes_max: 8 << 20,
            copy_window: Duration::from_secs(15 * 60),
            copy_bytes_max: 0,
            disk_reserve_bytes: 512 << 20,
        }
    }
}
