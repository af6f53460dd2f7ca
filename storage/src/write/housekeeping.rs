//! Housekeeping beside the way of a write: spare log segments, flushes of the tables, removal of the
//! log below them, the watch over the free space.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Shared;
use super::space::{FreeSpace, Room};
use crate::env::Disk;
use crate::log::segment_name;
use crate::log::writer::prepare_spare;

/// How often the flush thread looks for RocksDB's own errors.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// How often the free space is looked at. At 100 MB/s of writes a quarter of the default reserve lasts longer.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Keeps a spare segment ready.
pub(crate) fn run_spare(disk: &dyn Disk, segment_bytes: u64, shared: &Shared) {
    let mut wanted = true;
    loop {
        // On a nearly full disk what is under way needs the room more.
        if wanted
            && shared.room.get() == Room::Ample
            && let Err(error) = prepare_spare(disk, segment_bytes)
        {
            // The log makes a segment itself when it finds no spare one; if it cannot either, it says so.
            tracing::warn!(%error, "no spare log segment could be laid ready");
        }
        let mut house = shared.house();
        while !house.spare_wanted && !house.ending && !shared.is_stopped() {
            house = shared.house_changed.wait(house).unwrap_or_else(PoisonError::into_inner);
        }
        if house.ending || shared.is_stopped() {
            return;
        }
        wanted = std::mem::take(&mut house.spare_wanted);
    }
}

/// Flushes the tables when asked to, removes the log below them, and watches them for faults.
pub(crate) fn run_flush(disk: &dyn Disk, shared: &Shared) {
    loop {
        let mut house = shared.house();
        if !house.flush_wanted && !house.sweep_wanted && !house.ending && !shared.is_stopped() {
            let waited = shared.house_changed.wait_timeout(house, WATCH_INTERVAL);
            house = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if house.ending || shared.is_stopped() {
            return;
        }
        let flush = house.flush_wanted;
        let sweep = std::mem::take(&mut house.sweep_wanted);
        let bytes = house.log_bytes_since_flush;
        drop(house);
        if flush {
            let lsn = shared.applied.load(Ordering::Acquire);
            if let Err(failure) = shared.tables.flush() {
                shared.stop_writing(&format!("the tables could not be flushed: {failure}"));
                return;
            }
            let mut house = shared.house();
            house.flushed = house.flushed.max(lsn);
            house.log_bytes_since_flush = house.log_bytes_since_flush.saturating_sub(bytes);
            house.flush_wanted = false;
            shared.house_changed.notify_all();
        }
        if flush || sweep {
            remove_segments(disk, shared);
        }
        if let Some(reason) = shared.tables.fault() {
            shared.stop_writing(&reason);
        }
    }
}

/// Watches the free space until the store ends.
pub(crate) fn run_space(free: &FreeSpace, reserve_bytes: u64, shared: &Shared) {
    loop {
        shared.room.look(free, reserve_bytes);
        let house = shared.house();
        if house.ending || shared.is_stopped() {
            return;
        }
        let waited = shared.house_changed.wait_timeout(house, LOOK_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        if waited.0.ending {
            return;
        }
    }
}

/// Removes log segments that neither the tables nor a checkpoint need, oldest first, so that what is left has no gap.
pub(crate) fn remove_segments(disk: &dyn Disk, shared: &Shared) {
    loop {
        let house = shared.house();
        let needless = house.flushed.min(house.keep_above);
        let oldest = house.closed.first().copied();
        drop(house);
        let Some(segment) = oldest.filter(|segment| segment.next_lsn <= needless.saturating_add(1)) else { return };
        if let Err(error) = disk.unlink(&segment_name(segment.number)) {
            tracing::warn!(%error, segment = segment.number, "a log segment could not be removed");
            return;
        }
        shared.house().closed.remove(0);
    }
}
