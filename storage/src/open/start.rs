//! From files to a running store: recovery, a new segment, the threads.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};

use super::keeper::KeeperThread;
use super::options::StoreOptions;
use crate::copies::checkpoint::CopyWindow;
use crate::env::Disk;
use crate::error::{Failure, OpenError};
use crate::log::recovery::{self, Recovered};
use crate::log::writer::LogWriter;
use crate::log::{ClosedSegment, Trust, format, segment_name};
use crate::tables::projection::{Applied, Projection};
use crate::tables::registry::Registry;
use crate::vault::Vault;
use crate::view::snapshot::Snapshot;
use crate::write::housekeeping::{run_flush, run_space, run_spare};
use crate::write::pipeline::{Applier, Committer, Message, apply_frame, run_apply, run_log, run_writer};
use crate::write::shared::{House, Shared};
use crate::write::space::{FreeSpace, RoomState};
use crate::write::stats::Stats;
use crate::write::waking::Waking;
use crate::write::writer::Writer;

/// Requests that may wait for the writer; more are turned away as busy.
const QUEUE_MAX: usize = 16_384;

/// How far the clock may be behind the last transaction without a word in the log of the process.
const CLOCK_TOLERANCE_MICROS: i64 = 1_000_000;

/// A store brought up to date, before its threads run.
pub(crate) struct Started {
    pub(crate) writer: Writer,
    pub(crate) committer: Committer,
    pub(crate) applier: Applier,
    disk: Arc<dyn Disk>,
    shared: Arc<Shared>,
}

/// Recovery: reads the log, brings the tables up to it, starts a new segment.
pub(crate) fn start(
    disk: Arc<dyn Disk>,
    tables: Arc<dyn Projection>,
    registry: Registry,
    directory_id: [u8; 16],
    trust: Trust,
    options: &StoreOptions,
) -> Result<Started, OpenError> {
    let opening = |failure: Failure| match failure {
        Failure::Damaged(reason) => OpenError::Damaged { file: PathBuf::from("live"), offset: 0, reason },
        other => OpenError::io("bringing the tables up to the log", other),
    };
    let applied = tables.applied().map_err(opening)?;
    let mut replayed = 0_u64;
    let recovered = recovery::recover(disk.as_ref(), directory_id, applied.lsn, trust, &mut |header, payload| {
        replayed += u64::from(header.transactions);
        apply_frame(tables.as_ref(), &registry, header, payload).map(drop).map_err(opening)
    })?;
    let Recovered { position, carried, last_lsn, last_time, id_tick, segments, torn_at, stale } = recovered;
    if let Some((file, offset)) = torn_at {
        tracing::warn!(file = %file.display(), offset, "the log ended in a torn write that was never acknowledged; it is cut off");
    }
    let closed = segments.iter().map(|segment| ClosedSegment {
        number: segment.header.number,
        next_lsn: segment.end_lsn.unwrap_or(position.last_lsn + 1),
    });
    let closed: Vec<ClosedSegment> = closed.collect();
    let log =
        LogWriter::start(Arc::clone(&disk), directory_id, options.segment_bytes, position, carried.clone(), trust)
            .map_err(|e| OpenError::io("starting a log segment", e))?;
    // Only now: without any segment a directory that was made would not open.
    remove_durably(disk.as_ref(), stale.iter().map(|number| segment_name(*number)))?;
    for (header, frame) in &carried {
        replayed += u64::from(header.transactions);
        apply_frame(tables.as_ref(), &registry, header, format::payload(header, frame)).map_err(opening)?;
    }
    tracing::info!(last_lsn, replayed, "storage is up to date with its log");
    let last_time = last_time.max(applied.time);
    let behind_micros = last_time.micros_since(options.time.now());
    if behind_micros > CLOCK_TOLERANCE_MICROS {
        tracing::warn!(
            behind_seconds = behind_micros / 1_000_000,
            "the clock is behind the last transaction; new transactions keep that time until the clock has caught up"
        );
    }
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(|e| OpenError::io("drawing random bytes", e))?;
    let vault = Arc::new(Vault::new(Arc::clone(&tables)));
    let writer = Writer::new(
        Arc::clone(&tables),
        Arc::clone(&vault),
        Applied { lsn: last_lsn, time: last_time, id_tick: id_tick.max(applied.id_tick) },
        u64::from_le_bytes(seed),
        options.transaction_bytes_max.min(usize::try_from(options.segment_bytes / 2).unwrap_or(usize::MAX)),
    );
    let shared = Arc::new(Shared {
        published: RwLock::new(Snapshot::new(tables.snapshot(), last_lsn, last_time).with_vault(&vault)),
        tables,
        vault,
        waking: Waking::new(registry.families()),
        registry,
        applied: AtomicU64::new(last_lsn),
        executed: AtomicU64::new(last_lsn),
        executing: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
        stop_reason: Mutex::new(None),
        house: Mutex::new(House::at_start(closed, applied.lsn, replayed > 0)),
        house_changed: Condvar::new(),
        room: RoomState::default(),
        copy_window: Mutex::new(CopyWindow::none_yet(options.copy_window)),
        stats: Stats::default(),
    });
    let applier = Applier { shared: Arc::clone(&shared), flush_log_bytes: options.flush_log_bytes };
    let committer = Committer { log, shared: Arc::clone(&shared) };
    Ok(Started { writer, committer, applier, disk, shared })
}

/// Removes files of a copied log that speak of another moment. They must not come back once the directory counts as an
/// original.
fn remove_durably(disk: &dyn Disk, names: impl Iterator<Item = String>) -> Result<(), OpenError> {
    let mut removed = false;
    for name in names {
        match disk.unlink(&name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(OpenError::io(format!("removing {name}"), e)),
            Ok(()) => removed = true,
        }
    }
    if removed {
        disk.sync_directory().map_err(|e| OpenError::io("syncing the log directory", e))?;
    }
    Ok(())
}

impl Started {
    /// What readers will see first.
    pub(crate) fn published(&self) -> Snapshot {
        self.shared.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes log segments that hold nothing above `flushed`.
    #[cfg(test)]
    pub(crate) fn remove_segments(&self, flushed: crate::time::Lsn) {
        self.shared.house().flushed = flushed;
        crate::write::housekeeping::remove_segments(self.disk.as_ref(), &self.shared);
    }

    /// Starts the threads.
    pub(crate) fn run(
        self,
        free: FreeSpace,
        keeper: Option<KeeperThread>,
        options: &StoreOptions,
    ) -> Result<Running, OpenError> {
        let Started { writer, committer, applier, disk, shared } = self;
        // Before any thread might remove a segment.
        if let Some(keeper) = &keeper {
            shared.house().keep_above = keeper.keeper.keep_above();
        }
        let (requests, incoming) = bounded(QUEUE_MAX);
        let (to_log, from_writer) = bounded(0);
        let (to_apply, from_log) = bounded(2);
        let mut threads = Vec::new();
        let mut spawn = |name: &'static str, work: Box<dyn FnOnce(&Shared) + Send>| -> Result<(), OpenError> {
            let shared = Arc::clone(&shared);
            let guarded = move || {
                // A bug in one of the threads must not look like a slow disk.
                if catch_unwind(AssertUnwindSafe(|| work(&shared))).is_err() {
                    shared.stop_writing(&format!("the {name} thread panicked"));
                }
            };
            let thread = std::thread::Builder::new().name(format!("store-{name}")).spawn(guarded);
            threads.push(thread.map_err(|e| OpenError::io("starting a storage thread", e))?);
            Ok(())
        };
        let time = Arc::clone(&options.time);
        let reserve_bytes = options.disk_reserve_bytes;
        shared.room.look(&free, reserve_bytes);
        let spare_disk = Arc::clone(&disk);
        let segment_bytes = options.segment_bytes;
        spawn("writer", Box::new(move |shared| run_writer(writer, &incoming, &to_log, time.as_ref(), shared)))?;
        spawn("log", Box::new(move |_| run_log(committer, &from_writer, &to_apply)))?;
        spawn("apply", Box::new(move |_| run_apply(&applier, &from_log)))?;
        spawn("spare", Box::new(move |shared| run_spare(spare_disk.as_ref(), segment_bytes, shared)))?;
        spawn("flush", Box::new(move |shared| run_flush(disk.as_ref(), shared)))?;
        if let Some(keeper) = keeper {
            spawn("keeper", Box::new(move |shared| keeper.run(shared)))?;
        }
        spawn("space", Box::new(move |shared| run_space(&free, reserve_bytes, shared)))?;
        Ok(Running { requests, shared, threads })
    }
}

/// A store whose threads run.
pub(crate) struct Running {
    pub(crate) requests: Sender<Message>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) threads: Vec<JoinHandle<()>>,
}
