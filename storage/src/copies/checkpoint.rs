//! Checkpoints: immutable pictures of the tables, made of hard links, so that a copy of the directory always finds a
//! state to start from.
//!
//! A copier takes its time and reads directories in an order of its own. So a checkpoint that was the newest when a
//! copy began stays, with the log above it, until the *copy window* has passed: it may go once its successor has been
//! there that long. Four are made in a window. The bytes that are kept for this alone are capped; when the cap or a
//! nearly full disk takes a checkpoint early, the window in force is shorter for a while, and `status` says so.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::manifest::{Manifest, Mismatch, Progress};
use crate::env::real::{make_private_directory, sync_directory};
use crate::error::Failure;
use crate::tables::projection::LIVE;
use crate::tables::rocks::RocksProjection;
use crate::time::Lsn;

/// The checkpoints' directory inside the data directory.
pub(crate) const DIRECTORY: &str = "checkpoints";
/// What a checkpoint in the making is called, behind its number.
const MAKING: &str = ".making";
/// Checkpoints made in one window.
const PER_WINDOW: u32 = 4;

/// The directory of a data directory's checkpoint.
pub(crate) fn path_of(data: &Path, lsn: Lsn) -> PathBuf {
    data.join(DIRECTORY).join(format!("{lsn:016x}"))
}

/// The checkpoints of a data directory, newest first, whether or not they are sound.
pub(crate) fn list(data: &Path) -> io::Result<Vec<(Lsn, PathBuf)>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(data.join(DIRECTORY)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(found),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.len() == 16) else { continue };
        if let Ok(lsn) = Lsn::from_str_radix(name, 16) {
            found.push((lsn, entry.path()));
        }
    }
    found.sort_by_key(|(lsn, _)| std::cmp::Reverse(*lsn));
    Ok(found)
}

/// Reads a checkpoint's manifest and compares every file with it.
pub(crate) fn check(path: &Path, directory_id: Uuid, progress: Progress<'_>) -> Result<Manifest, Mismatch> {
    let mismatch = |reason: &str| Mismatch { file: path.to_path_buf(), reason: reason.to_owned() };
    let manifest = Manifest::read(path)?.ok_or_else(|| mismatch("it has no manifest, so it was never finished"))?;
    if manifest.directory_id != directory_id {
        return Err(mismatch("it belongs to another data directory"));
    }
    manifest.check(path, progress)?;
    Ok(manifest)
}

/// A checkpoint that is byte for byte what its manifest says.
pub(crate) struct Sound {
    pub(crate) lsn: Lsn,
    pub(crate) path: PathBuf,
    pub(crate) manifest: Manifest,
}

/// What a look at a data directory's checkpoints came to.
pub(crate) struct Newest {
    /// The newest sound one, if there is any.
    pub(crate) sound: Option<Sound>,
    /// Those that are newer, and why they do not count.
    pub(crate) unsound: Vec<(PathBuf, Mismatch)>,
}

/// Reads the checkpoints of a data directory, newest first, until one is sound.
pub(crate) fn newest_sound(data: &Path, directory_id: Uuid, progress: Progress<'_>) -> io::Result<Newest> {
    let mut unsound = Vec::new();
    for (lsn, path) in list(data)? {
        tracing::info!(checkpoint = %path.display(), "checking a checkpoint");
        match check(&path, directory_id, progress) {
            Ok(manifest) => return Ok(Newest { sound: Some(Sound { lsn, path, manifest }), unsound }),
            Err(mismatch) => {
                tracing::warn!(%mismatch, "a checkpoint cannot be used");
                unsound.push((path, mismatch));
            }
        }
    }
    Ok(Newest { sound: None, unsound })
}

/// A checkpoint that stays for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldCheckpoint {
    /// Everything up to this transaction is in it.
    pub lsn: Lsn,
    /// Where it lies.
    pub path: PathBuf,
}

/// Where the tables come from.
pub(crate) trait Source: Send {
    /// Flushes the tables and hard-links their files into a directory that does not exist yet.
    fn checkpoint(&self, path: &Path) -> Result<(), Failure>;
}

impl Source for Arc<RocksProjection> {
    fn checkpoint(&self, path: &Path) -> Result<(), Failure> {
        RocksProjection::checkpoint(self, path)
    }
}

/// A checkpoint that exists.
#[derive(Debug)]
struct Known {
    lsn: Lsn,
    path: PathBuf,
    /// When it was made; the start of the process for those that were found.
    since: Instant,
    manifest: Option<Manifest>,
    /// Until when somebody needs it, whatever the cap says.
    held_until: Option<Instant>,
    /// How many hold it; the last to give it back lets it go.
    holders: u32,
}

/// For how long copies are safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyWindow {
    /// What the configuration asks for.
    pub wanted: Duration,
    /// What is in force: shorter while the byte cap or a nearly full disk takes checkpoints early.
    pub in_force: Duration,
    /// How many checkpoints there are.
    pub checkpoints: usize,
    /// The transaction the newest one was made at.
    pub newest_lsn: Lsn,
    /// When the newest one was made, or found at the start; `None` if there is none.
    pub newest_since: Option<Instant>,
    /// Bytes on disk that are kept for copies alone: of older checkpoints, and of the log above the oldest.
    pub kept_bytes: u64,
}

impl CopyWindow {
    /// Before there is any checkpoint: the log has everything.
    pub(crate) fn none_yet(wanted: Duration) -> CopyWindow {
        CopyWindow { wanted, in_force: wanted, checkpoints: 0, newest_lsn: 0, newest_since: None, kept_bytes: 0 }
    }
}

/// What a checkpoint keeper is to keep to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// How long a copy of the directory may take.
    pub(crate) window: Duration,
    /// The most bytes kept for copies alone.
    pub(crate) bytes_max: u64,
}

/// Makes checkpoints and lets them go. One thread owns it.
pub(crate) struct Keeper {
    data: PathBuf,
    directory_id: Uuid,
    source: Box<dyn Source>,
    rules: Rules,
    /// Oldest first.
    known: Vec<Known>,
    /// Those whose time is over but which somebody holds. They need no log.
    outlived: Vec<Known>,
    /// When a checkpoint last went before its time, and the window it left.
    shortened: Option<(Instant, Duration)>,
}

impl Keeper {
    /// Finds the checkpoints there are and removes what a crash left in the making.
    pub(crate) fn new(
        data: &Path,
        directory_id: Uuid,
        source: Box<dyn Source>,
        rules: Rules,
        now: Instant,
    ) -> io::Result<Keeper> {
        let directory = data.join(DIRECTORY);
        make_private_directory(&directory)?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            // RocksDB's own stage of a checkpoint is called after ours, with another ending.
            if entry.file_name().to_string_lossy().contains(MAKING) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let mut known: Vec<Known> = Vec::new();
        for (lsn, path) in list(data)? {
            let manifest = Manifest::read(&path).unwrap_or_else(|mismatch| {
                tracing::warn!(%mismatch, "a checkpoint is damaged; it goes when its time has come");
                None
            });
            known.push(Known { lsn, path, since: now, manifest, held_until: None, holders: 0 });
        }
        known.reverse();
        Ok(Keeper {
            data: data.to_path_buf(),
            directory_id,
            source,
            rules,
            known,
            outlived: Vec::new(),
            shortened: None,
        })
    }

    /// The log above this must stay; all of it while there is no checkpoint.
    pub(crate) fn keep_above(&self) -> Lsn {
        self.known.first().map_or(0, |oldest| oldest.lsn)
    }

    /// Whether it is time for another checkpoint, the tables being at `applied`.
    pub(crate) fn is_due(&self, applied: Lsn, now: Instant) -> bool {
        match self.known.last() {
            None => true,
            // One that is damaged is none.
            Some(newest) if newest.manifest.is_none() => true,
            Some(newest) => applied > newest.lsn && now.duration_since(newest.since) >= self.rules.window / PER_WINDOW,
        }
    }

    /// Makes a checkpoint that holds everything up to `applied`, unless the newest one does. `is_ending` cuts it short.
    pub(crate) fn make(&mut self, applied: Lsn, now: Instant, is_ending: &dyn Fn() -> bool) -> io::Result<Lsn> {
        if let Some(newest) = self.known.last().filter(|newest| newest.lsn >= applied && newest.manifest.is_some()) {
            return Ok(newest.lsn);
        }
        let path = path_of(&self.data, applied);
        let making = path.with_extension(&MAKING[1..]);
        if let Err(error) = self.fill(&making, applied, is_ending) {
            // What is left of it is links to files that are kept elsewhere.
            let _ = fs::remove_dir_all(&making);
            return Err(error);
        }
        // One of the same number is there only if it was damaged.
        self.known.retain(|known| known.lsn != applied);
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        fs::rename(&making, &path)?;
        sync_directory(&self.data.join(DIRECTORY))?;
        let manifest = Manifest::read(&path).map_err(|mismatch| io::Error::other(mismatch.to_string()))?;
        self.known.push(Known { lsn: applied, path, since: now, manifest, held_until: None, holders: 0 });
        Ok(applied)
    }

    fn fill(&self, making: &Path, applied: Lsn, is_ending: &dyn Fn() -> bool) -> io::Result<()> {
        if making.exists() {
            fs::remove_dir_all(making)?;
        }
        self.source.checkpoint(making).map_err(io::Error::other)?;
        for entry in fs::read_dir(making)? {
            let path = entry?.path();
            // Table files were synced when they were written; RocksDB's small ones are copies.
            if path.extension().is_none_or(|extension| extension != "sst") {
                fs::File::open(&path)?.sync_all()?;
            }
        }
        let earlier = self.known.iter().rev().find_map(|known| Some((known.path.as_path(), known.manifest.as_ref()?)));
        let mut progress = |_| if is_ending() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) };
        let manifest = Manifest::of(making, self.directory_id, applied, earlier, &mut progress)?;
        manifest.write(making)
    }

    /// Removes checkpoints whose time is over: a sound successor has been there for a window. With `pressure` only the
    /// newest stays. `log_bytes_above` says how much log is kept for a checkpoint. One that is held stays, without log.
    pub(crate) fn retire(&mut self, now: Instant, pressure: bool, log_bytes_above: &dyn Fn(Lsn) -> u64) {
        self.drop_outlived(now);
        loop {
            let Some(oldest) = self.known.first() else { return };
            let Some(successor) = self.known.iter().skip(1).find(|known| known.manifest.is_some()) else { return };
            let age = now.duration_since(successor.since);
            let is_over = age >= self.rules.window;
            let kept_bytes = || self.exclusive_bytes().saturating_add(log_bytes_above(oldest.lsn));
            if !is_over && !pressure && kept_bytes() <= self.rules.bytes_max {
                return;
            }
            if !is_over {
                self.shortened = Some((now, age));
            }
            let gone = self.known.remove(0);
            self.outlived.push(gone);
            self.drop_outlived(now);
        }
    }

    /// Removes what nobody holds any more of what has outlived its time.
    fn drop_outlived(&mut self, now: Instant) {
        self.outlived.retain(|known| {
            if known.held_until.is_some_and(|until| until > now) {
                return true;
            }
            if let Err(error) = remove(&known.path) {
                tracing::warn!(%error, checkpoint = %known.path.display(), "a checkpoint could not be removed");
            }
            false
        });
    }

    /// Whether the newest checkpoint keeps log that a new one would let go.
    pub(crate) fn keeps_log(&self, log_bytes_above: &dyn Fn(Lsn) -> u64) -> bool {
        self.known.last().is_some_and(|newest| log_bytes_above(newest.lsn) > 0)
    }

    /// No checkpoint can be made, and what is kept of the log meanwhile is over the cap: copies are no longer safe.
    pub(crate) fn give_up_log(&mut self, now: Instant, log_bytes_above: &dyn Fn(Lsn) -> u64) -> bool {
        let is_over = log_bytes_above(self.keep_above()) > self.rules.bytes_max;
        if is_over {
            self.shortened = Some((now, Duration::ZERO));
        }
        is_over
    }

    /// Whether what is kept for copies is so much that a new checkpoint is wanted, so that an old one can go.
    pub(crate) fn is_over_cap(&self, log_bytes_above: &dyn Fn(Lsn) -> u64) -> bool {
        let Some(newest) = self.known.last() else { return false };
        let share = self.rules.bytes_max / u64::from(2 * PER_WINDOW);
        log_bytes_above(newest.lsn) > share.max(1)
    }

    /// Bytes on disk that only checkpoints keep there.
    fn exclusive_bytes(&self) -> u64 {
        let live = self.data.join(LIVE);
        let mut seen = std::collections::BTreeSet::new();
        let mut bytes = 0_u64;
        for known in self.known.iter().chain(&self.outlived) {
            for entry in known.manifest.iter().flat_map(|manifest| &manifest.entries) {
                let Ok(found) = fs::metadata(known.path.join(&entry.name)) else { continue };
                let is_live = fs::metadata(live.join(&entry.name)).is_ok_and(|other| other.ino() == found.ino());
                if !is_live && seen.insert(found.ino()) {
                    bytes = bytes.saturating_add(found.len());
                }
            }
        }
        bytes
    }

    /// Keeps a checkpoint until then at least, for one more holder or for those it has; `None` if it is not there.
    pub(crate) fn hold(&mut self, lsn: Lsn, until: Instant, is_another: bool) -> Option<PathBuf> {
        let known = self.held_one(lsn)?;
        known.held_until = known.held_until.max(Some(until));
        known.holders += u32::from(is_another);
        Some(known.path.clone())
    }

    fn held_one(&mut self, lsn: Lsn) -> Option<&mut Known> {
        self.known.iter_mut().chain(&mut self.outlived).find(|known| known.lsn == lsn)
    }

    /// One holder less.
    pub(crate) fn release(&mut self, lsn: Lsn) {
        if let Some(known) = self.held_one(lsn) {
            known.holders = known.holders.saturating_sub(1);
            if known.holders == 0 {
                known.held_until = None;
            }
        }
    }

    /// For how long copies that begin now are safe. `log_bytes_above` as for [`Keeper::retire`].
    pub(crate) fn window(&self, now: Instant, log_bytes_above: &dyn Fn(Lsn) -> u64) -> CopyWindow {
        let recent = self.shortened.filter(|(when, _)| now.duration_since(*when) < self.rules.window);
        CopyWindow {
            wanted: self.rules.window,
            in_force: recent.map_or(self.rules.window, |(_, left)| left),
            checkpoints: self.known.len(),
            newest_lsn: self.known.last().map_or(0, |newest| newest.lsn),
            newest_since: self.known.last().map(|newest| newest.since),
            kept_bytes: self.exclusive_bytes().saturating_add(log_bytes_above(self.keep_above())),
        }
    }
}

/// Removes a checkpoint. Under its own name it is whole or not there, whoever looks and whenever the power fails.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let going = path.with_extension(&MAKING[1..]);
    if going.exists() {
        fs::remove_dir_all(&going)?;
    }
    fs::rename(path, &going)?;
    fs::remove_dir_all(&going)
}
