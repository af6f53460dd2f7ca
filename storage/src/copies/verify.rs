//! Checking a data directory: everything that is stored is read, and what is not as it was written is named.
//!
//! Nothing is changed. On a stopped directory the tables are those of `live/` with the log laid over them; beside a
//! running appliance they are those of a checkpoint that it made and holds for this.

use std::fmt;
use std::path::{Path, PathBuf};

use super::manifest::{MANIFEST_FILE, Manifest};
use super::{checkpoint, rebuild};
use crate::directory::format::{Format, Formats, read_format};
use crate::directory::identity::{Provenance, provenance};
use crate::directory::lock::LockedDirectory;
use crate::env::real::ReadOnlyDisk;
use crate::error::OpenError;
use crate::log::{self, Trust, recovery, scan};
use crate::tables::family::Family;
use crate::tables::projection::{KeyRange, LIVE, ProjectionRead};
use crate::tables::registry::Registry;
use crate::tables::table::TableSpec;
use crate::time::Lsn;
use crate::view::overlay::Overlay;
use crate::view::snapshot::Snapshot;

/// Findings told of one kind of thing; more only repeat them.
const FINDINGS_MAX: usize = 100;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file or directory.
    pub file: PathBuf,
    /// Where in the file, in bytes, if that is known.
    pub offset: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// What was read, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Log segments read.
    pub log_segments: u64,
    /// Frames in them.
    pub log_frames: u64,
    /// The first transaction the log still holds.
    pub log_first_lsn: Lsn,
    /// The last transaction of all.
    pub last_lsn: Lsn,
    /// Checkpoints whose every file was read.
    pub checkpoints: u64,
    /// Rows read and decoded.
    pub rows: u64,
    /// The bytes of their keys and values.
    pub row_bytes: u64,
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// Circumstances that are no damage.
    pub notes: Vec<String>,
}

/// Told what is being done and how many bytes of it have been read.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64);

/// Where the tables are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tables {
    /// The directory is stopped: its own, with the log laid over them.
    Own,
    /// The appliance runs: this checkpoint, which it holds until the check is done.
    Checkpoint(PathBuf),
}

/// A data directory that is being checked.
pub struct Verification {
    data: PathBuf,
    format: Format,
    formats: Formats,
    registry: Registry,
    trust: Trust,
    verified: Verified,
    /// Held while a stopped directory is looked at.
    _lock: Option<LockedDirectory>,
}

impl Verification {
    /// Begins with a stopped directory (its lock is held meanwhile) or a running one.
    ///
    /// # Errors
    /// [`OpenError::InUse`] if it was to be a stopped one and is not; FORMAT is missing, damaged or newer.
    pub fn begin(data: &Path, is_running: bool, tables: &[&[TableSpec]]) -> Result<Verification, OpenError> {
        Verification::begin_as(data, is_running, tables, Formats::PRESENT)
    }

    /// [`Verification::begin`] as a binary of any version.
    pub(crate) fn begin_as(
        data: &Path,
        is_running: bool,
        tables: &[&[TableSpec]],
        formats: Formats,
    ) -> Result<Verification, OpenError> {
        let format = read_format(data)?.ok_or_else(|| OpenError::NotADataDirectory(data.to_path_buf()))?;
        formats.require(format.version)?;
        let lock = if is_running { None } else { Some(LockedDirectory::take(data)?) };
        let mut verified = Verified::default();
        let trust = match provenance(data) {
            // What runs is an original; its IDENTITY is replaced now and then.
            Provenance::Copy(reason) if !is_running => {
                verified.notes.push(format!(
                    "this is a copy ({reason}): its tables are those of its newest sound checkpoint and the log above"
                ));
                Trust::Copy
            }
            _ => Trust::Original,
        };
        let registry = Registry::new(tables)?;
        Ok(Verification { data: data.to_path_buf(), format, formats, registry, trust, verified, _lock: lock })
    }

    fn find(&mut self, file: impl Into<PathBuf>, offset: Option<u64>, reason: impl Into<String>) {
        let file = file.into();
        let file = if file.starts_with(&self.data) { file } else { self.data.join(file) };
        self.verified.findings.push(Finding { file, offset, reason: reason.into() });
    }

    fn find_error(&mut self, error: OpenError) {
        match error {
            OpenError::Damaged { file, offset, reason } => self.find(file, Some(offset), reason),
            other => self.find(self.data.clone(), None, other.to_string()),
        }
    }

    /// Reads the whole log.
    pub fn check_log(&mut self, progress: Progress<'_>) {
        let disk = self.disk();
        let id = *self.format.directory_id.as_bytes();
        // Before the segments, so that beside a running appliance it is never ahead of them.
        let synced = match self.trust {
            Trust::Original => recovery::read_watermark(&disk, id).unwrap_or(0),
            Trust::Copy => 0,
        };
        let mut read = 0;
        let scanned = scan::scan(&disk, id, self.trust, synced, &mut |bytes| {
            read += bytes;
            progress("log", read);
        });
        match scanned {
            Err(error) => self.find_error(error),
            Ok(scanned) => {
                if scanned.segments == 0 && self.format.complete && !self.data.join(MANIFEST_FILE).exists() {
                    self.find(log::DIRECTORY, None, "the log's segments are gone");
                }
                self.verified.log_segments = scanned.segments;
                self.verified.log_frames = scanned.frames;
                self.verified.log_first_lsn = scanned.first_lsn;
                self.verified.last_lsn = self.verified.last_lsn.max(scanned.last_lsn);
                for fault in scanned.faults {
                    self.find(fault.file, Some(fault.offset), fault.reason);
                }
            }
        }
    }

    /// Reads every file of every checkpoint. A running appliance may remove the older ones meanwhile.
    pub fn check_checkpoints(&mut self, progress: Progress<'_>) {
        let mut read = 0;
        let mut step = |bytes| {
            read += bytes;
            progress("checkpoints", read);
            Ok(())
        };
        let found = match checkpoint::list(&self.data) {
            Ok(found) => found,
            Err(error) => return self.find(checkpoint::DIRECTORY, None, error.to_string()),
        };
        for (_, path) in found {
            match checkpoint::check(&path, self.format.directory_id, &mut step) {
                Ok(_) => self.verified.checkpoints += 1,
                Err(_) if !path.exists() => {}
                // The manifest is written last and removed first: without it there is no checkpoint to be damaged.
                Err(_) if !path.join(MANIFEST_FILE).exists() => {
                    let note = format!("{} is no checkpoint: it was not finished, or is being removed", path.display());
                    self.verified.notes.push(note);
                }
                Err(mismatch) => self.find(mismatch.file, None, mismatch.reason),
            }
        }
    }

    /// Checks a backup's manifest, where there is one.
    pub fn check_backup(&mut self, progress: Progress<'_>) {
        let mut read = 0;
        let mut step = |bytes| {
            read += bytes;
            progress("backup", read);
            Ok(())
        };
        match Manifest::read(&self.data) {
            Ok(None) => {}
            Ok(Some(manifest)) => {
                for mismatch in manifest.mismatches(&self.data, FINDINGS_MAX, &mut step) {
                    self.find(mismatch.file, None, mismatch.reason);
                }
            }
            Err(mismatch) => self.find(mismatch.file, None, mismatch.reason),
        }
    }

    /// Opens the tables and decodes every row; the state for the rooms' own checks, if it can be read and its rows have
    /// the present format.
    pub fn check_tables(&mut self, tables: &Tables, progress: Progress<'_>) -> Option<Snapshot> {
        let overlay = match self.look_at(tables) {
            Ok(overlay) => overlay,
            Err(error) => {
                self.find_error(error);
                return None;
            }
        };
        let found = self.verified.findings.len();
        for family in overlay.families() {
            self.check_family(&overlay, family, progress);
        }
        self.verified.last_lsn = self.verified.last_lsn.max(overlay.applied().lsn);
        let snapshot = overlay.into_snapshot();
        if self.verified.findings.len() > found {
            return None;
        }
        let version = match snapshot.rows_version(self.format.made) {
            Ok(version) => version,
            Err(failure) => {
                self.find(LIVE, None, failure.to_string());
                return None;
            }
        };
        if let Err(error) = self.formats.require(version) {
            self.find_error(error);
            return None;
        }
        if version < self.formats.newest {
            self.verified.notes.push(format!(
                "the rows have format {version}: each was read, and they are held against each other once a start has \
                 brought them to format {}",
                self.formats.newest
            ));
            return None;
        }
        Some(snapshot)
    }

    /// The state for a look at single rows, without a check.
    ///
    /// # Errors
    /// The tables or the log above them cannot be read.
    pub fn peek(&self, tables: &Tables) -> Result<Snapshot, OpenError> {
        Ok(self.look_at(tables)?.into_snapshot())
    }

    fn look_at(&self, tables: &Tables) -> Result<Overlay, OpenError> {
        let own = match (tables, self.trust) {
            (Tables::Checkpoint(path), _) => return Overlay::open(path),
            (Tables::Own, Trust::Original) => Some(self.data.join(LIVE)),
            (Tables::Own, Trust::Copy) => {
                let newest = rebuild::start_from(&self.data, self.format.directory_id, &self.disk())?;
                newest.sound.map(|sound| sound.path)
            }
        };
        let mut overlay = match own {
            Some(own) => Overlay::open(&own)?,
            None => Overlay::empty(),
        };
        overlay.replay(&self.disk(), *self.format.directory_id.as_bytes(), self.trust, &self.registry)?;
        Ok(overlay)
    }

    fn check_family(&mut self, overlay: &Overlay, family: Family, progress: Progress<'_>) {
        let registry = &self.registry;
        let verified = &mut self.verified;
        let mut faults = Vec::new();
        let all = KeyRange { lower: Vec::new(), upper: None, descending: false };
        let mut last_key = Vec::new();
        let scanned = overlay.scan(family, &all, &mut |key, value| {
            let checked = match registry.table_of(key).filter(|table| table.family == family) {
                Some(table) => {
                    (table.decodes)(key, value).map_err(|failure| format!("table {}: {failure}", table.name))
                }
                None => Err(format!("a row of an unknown table in family {}", family.name())),
            };
            if let Err(reason) = checked {
                faults.push(reason);
            }
            verified.rows += 1;
            verified.row_bytes += (key.len() + value.len()) as u64;
            if verified.rows.is_multiple_of(4096) {
                progress("tables", verified.row_bytes);
            }
            last_key.clear();
            last_key.extend_from_slice(key);
            faults.len() < FINDINGS_MAX
        });
        for reason in faults {
            self.find(LIVE, None, reason);
        }
        if let Err(failure) = scanned {
            let behind = self.registry.table_of(&last_key).map_or("its first row", |table| table.name);
            self.find(LIVE, None, format!("{failure} (family {}, behind a row of {behind})", family.name()));
        }
    }

    /// Takes in what a room found in the snapshot.
    pub fn add(&mut self, room: &str, findings: Vec<String>) {
        for reason in findings {
            self.find(LIVE, None, format!("{room}: {reason}"));
        }
    }

    /// Takes in what was found where storage does not look.
    pub fn add_finding(&mut self, finding: Finding) {
        self.verified.findings.push(finding);
    }

    /// Takes in a circumstance that is no damage.
    pub fn add_note(&mut self, note: String) {
        self.verified.notes.push(note);
    }

    /// The directory's format.
    #[must_use]
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// What has been read and found so far.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// The report.
    #[must_use]
    pub fn finish(self) -> Verified {
        self.verified
    }

    fn disk(&self) -> ReadOnlyDisk {
        ReadOnlyDisk { directory: self.data.join(log::DIRECTORY) }
    }
}
