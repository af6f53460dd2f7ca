//! The thread that makes checkpoints and lets them go, beside the way of a write.

use std::io;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::copies::checkpoint::{HeldCheckpoint, Keeper};
use crate::directory::identity;
use crate::time::Lsn;
use crate::write::shared::Shared;
use crate::write::space::Room;

/// What callers ask of the checkpoint keeper.
pub(crate) enum KeeperRequest {
    /// Make a checkpoint of everything published so far and keep it for a while.
    Hold { seconds: u64, answer: Sender<Result<HeldCheckpoint, String>> },
    /// Keep it for longer.
    Extend { lsn: Lsn, seconds: u64, answer: Sender<Result<HeldCheckpoint, String>> },
    /// It is no longer needed.
    Release { lsn: Lsn },
    /// The store ends.
    Stop,
}

/// How often the keeper looks whether something has become due, if its window is not shorter still.
const KEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Nobody holds a checkpoint for longer than this without saying so again.
const HOLD_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;
/// After a checkpoint that could not be made.
const KEEP_RETRY: Duration = Duration::from_secs(30);

/// Makes checkpoints and lets them go.
pub(crate) struct KeeperThread {
    pub(crate) keeper: Keeper,
    pub(crate) data: PathBuf,
    pub(crate) requests: Receiver<KeeperRequest>,
    pub(crate) segment_bytes: u64,
    pub(crate) interval: Duration,
}

impl KeeperThread {
    /// Runs until the store ends.
    pub(crate) fn run(mut self, shared: &Shared) {
        let interval = self.interval.min(KEEP_INTERVAL);
        let mut not_before = Instant::now();
        let mut is_failing = false;
        loop {
            let now = Instant::now();
            if now >= not_before && self.wants_checkpoint(shared, now) {
                let made = self.make(shared);
                is_failing = made.is_err();
                if let Err(error) = made {
                    tracing::warn!(%error, "a checkpoint could not be made; copies fall back to the one before it");
                    not_before = Instant::now() + KEEP_RETRY;
                }
            }
            self.retire(shared, is_failing);
            match self.requests.recv_timeout(interval) {
                Ok(KeeperRequest::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(request) => self.serve(request, shared),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if shared.is_stopped() {
                return;
            }
        }
    }

    fn wants_checkpoint(&self, shared: &Shared, now: Instant) -> bool {
        let log_bytes_above = self.log_bytes_above(shared);
        if shared.room.get() == Room::Exhausted {
            return false;
        }
        // A checkpoint costs a flush, and gives the log back that the one before it keeps.
        let flush_bytes = shared.house().log_bytes_since_flush;
        let has_room = shared.room.free_bytes() > 2 * flush_bytes + self.segment_bytes;
        if shared.room.is_tight() && has_room && self.keeper.keeps_log(&log_bytes_above) {
            return true;
        }
        let applied = shared.applied.load(Ordering::Acquire);
        shared.room.get() == Room::Ample
            && (self.keeper.is_due(applied, now) || self.keeper.is_over_cap(&log_bytes_above))
    }

    fn make(&mut self, shared: &Shared) -> io::Result<Lsn> {
        let applied = shared.applied.load(Ordering::Acquire);
        let is_ending = || shared.house().ending || shared.is_stopped();
        let lsn = self.keeper.make(applied, Instant::now(), &is_ending)?;
        // Before any segment it might name can go.
        identity::write(&self.data)?;
        let mut house = shared.house();
        house.flushed = house.flushed.max(lsn);
        Ok(lsn)
    }

    /// The bytes of the segments that are kept for what lies above a transaction.
    fn log_bytes_above(&self, shared: &Shared) -> impl Fn(Lsn) -> u64 + use<> {
        let closed: Vec<Lsn> = shared.house().closed.iter().map(|segment| segment.next_lsn).collect();
        let segment_bytes = self.segment_bytes;
        move |lsn| closed.iter().filter(|next_lsn| **next_lsn > lsn + 1).count() as u64 * segment_bytes
    }

    fn retire(&mut self, shared: &Shared, is_failing: bool) {
        let pressure = shared.room.is_tight();
        let log_bytes_above = self.log_bytes_above(shared);
        self.keeper.retire(Instant::now(), pressure, &log_bytes_above);
        let gives_up = is_failing && self.keeper.give_up_log(Instant::now(), &log_bytes_above);
        let window = self.keeper.window(Instant::now(), &log_bytes_above);
        *shared.copy_window.lock().unwrap_or_else(PoisonError::into_inner) = window;
        let mut house = shared.house();
        house.keep_above = if gives_up { Lsn::MAX } else { self.keeper.keep_above() };
        house.sweep_wanted = true;
        shared.house_changed.notify_all();
    }

    fn serve(&mut self, request: KeeperRequest, shared: &Shared) {
        let until = |seconds: u64| Instant::now() + Duration::from_secs(seconds.min(HOLD_SECONDS_MAX));
        match request {
            KeeperRequest::Hold { seconds, answer } => {
                let made = self.make(shared).map_err(|error| error.to_string());
                drop(answer.send(made.and_then(|lsn| self.hold(lsn, until(seconds), true))));
            }
            KeeperRequest::Extend { lsn, seconds, answer } => drop(answer.send(self.hold(lsn, until(seconds), false))),
            KeeperRequest::Release { lsn } => self.keeper.release(lsn),
            KeeperRequest::Stop => {}
        }
    }

    fn hold(&mut self, lsn: Lsn, until: Instant, is_another: bool) -> Result<HeldCheckpoint, String> {
        let held = self.keeper.hold(lsn, until, is_another).map(|path| HeldCheckpoint { lsn, path });
        held.ok_or_else(|| format!("checkpoint {lsn} is gone"))
    }
}
