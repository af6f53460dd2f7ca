//! The disk reserve: a full disk is a state that comes and goes, not a crash.
//!
//! Below the reserve ordinary writes are refused before they run, so that what is under way (a segment, a flush, a
//! compaction) always finds room. Writes that free something go on down to a quarter of it. Once there is room again,
//! and an eighth more so that the state does not flicker, everything resumes by itself.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Says how many bytes are free for this process.
pub(crate) type FreeSpace = Box<dyn Fn() -> io::Result<u64> + Send>;

/// The free space of the file system that holds `directory`.
pub(crate) fn free_space_of(directory: &Path) -> FreeSpace {
    let directory = directory.to_owned();
    Box::new(move || {
        let found = rustix::fs::statvfs(&directory)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    })
}

/// What a write is for, as far as a nearly full disk cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Anything: refused below the reserve.
    Ordinary,
    /// Revoking, suspending, erasing, pruning, collecting: refused below a quarter of it.
    Freeing,
}

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Enough.
    Ample,
    /// Below the reserve: only what frees something is accepted.
    Low,
    /// Below a quarter of the reserve: nothing is accepted.
    Exhausted,
}

impl Room {
    /// The state that follows from the last one and what is free now.
    fn next(self, free_bytes: u64, reserve_bytes: u64) -> Room {
        let enough = if self == Room::Ample { reserve_bytes } else { reserve_bytes + reserve_bytes / 8 };
        if free_bytes >= enough {
            Room::Ample
        } else if free_bytes >= reserve_bytes / 4 {
            Room::Low
        } else {
            Room::Exhausted
        }
    }
}

/// The state, shared between threads.
#[derive(Default)]
pub(crate) struct RoomState {
    room: AtomicU8,
    tight: AtomicBool,
    free_bytes: AtomicU64,
}

impl RoomState {
    pub(crate) fn get(&self) -> Room {
        match self.room.load(Ordering::Relaxed) {
            0 => Room::Ample,
            1 => Room::Low,
            _ => Room::Exhausted,
        }
    }

    fn set(&self, room: Room) {
        let code = match room {
            Room::Ample => 0,
            Room::Low => 1,
            Room::Exhausted => 2,
        };
        self.room.store(code, Ordering::Relaxed);
    }

    /// Whether the disk is near its reserve: what is kept for copies alone yields before writes are refused.
    pub(crate) fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    /// What was free when the disk was last looked at, in bytes.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_bytes.load(Ordering::Relaxed)
    }

    /// Whether a write may run now.
    pub(crate) fn admits(&self, purpose: Purpose) -> bool {
        match self.get() {
            Room::Ample => true,
            Room::Low => purpose == Purpose::Freeing,
            Room::Exhausted => false,
        }
    }

    /// Looks at the free space once.
    pub(crate) fn look(&self, free: &FreeSpace, reserve_bytes: u64) {
        let before = self.get();
        let free_bytes = match free() {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::warn!(%error, "the free disk space could not be read; keeping the last state");
                return;
            }
        };
        self.free_bytes.store(free_bytes, Ordering::Relaxed);
        self.tight.store(free_bytes < reserve_bytes.saturating_mul(2), Ordering::Relaxed);
        let room = before.next(free_bytes, reserve_bytes);
        if room == before {
            return;
        }
        self.set(room);
        let free_mb = free_bytes >> 20;
        match room {
            Room::Ample => tracing::info!(free_mb, "there is room on the disk again; writes are accepted"),
            Room::Low => tracing::error!(free_mb, "free disk space is below the reserve; writes are refused"),
            Room::Exhausted => tracing::error!(free_mb, "the disk reserve is nearly used up; all writes are refused"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_and_goes_without_flickering() {
        let mut room = Room::Ample;
        for (free, expected) in [
            (1000, Room::Ample),
            (800, Room::Ample),
            (799, Room::Low),
            (800, Room::Low),
            (899, Room::Low),
            (200, Room::Low),
            (199, Room::Exhausted),
            (200, Room::Low),
            (0, Room::Exhausted),
            (900, Room::Ample),
            (800, Room::Ample),
        ] {
            room = room.next(free, 800);
            assert_eq!(room, expected, "{free} free");
        }
        assert_eq!(Room::Ample.next(0, 0), Room::Ample, "no reserve, no refusal");
    }
}
