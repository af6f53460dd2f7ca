//! A data directory that this process has locked, to work on it or to look at it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::format::{FORMAT_FILE, Format, Formats, read_format, write_format};
use crate::env::real::{DirectoryLock, make_private_directory};
use crate::error::OpenError;
use crate::log;

const LOCK_FILE: &str = "LOCK";
/// Locked by the follower that keeps a directory as a copy of another.
pub(crate) const FOLLOWING_FILE: &str = "FOLLOWING";

/// Whether somebody works on a directory as his own.
pub(crate) fn is_worked_on(path: &Path) -> io::Result<bool> {
    is_locked(&path.join(LOCK_FILE))
}

fn is_locked(file: &Path) -> io::Result<bool> {
    match DirectoryLock::take_existing(file) {
        Ok(lock) => Ok(lock.is_none()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// The lock of a data directory that is only looked at, if it has one.
pub(crate) struct LockedDirectory {
    _lock: Option<DirectoryLock>,
}

impl LockedDirectory {
    pub(crate) fn take(path: &Path) -> Result<LockedDirectory, OpenError> {
        match DirectoryLock::take_existing(&path.join(LOCK_FILE)) {
            Ok(Some(lock)) => Ok(LockedDirectory { _lock: Some(lock) }),
            Ok(None) => Err(OpenError::InUse(path.to_owned())),
            // A backup has no lock, and nothing is made in what is only looked at.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(LockedDirectory { _lock: None }),
            Err(e) => Err(OpenError::io(format!("locking {}", path.display()), e)),
        }
    }
}

/// A data directory whose lock this process holds.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    _lock: DirectoryLock,
}

impl DataDirectory {
    /// Locks the directory; makes it if it is absent or empty.
    pub(crate) fn open(path: &Path, rehearsal: bool, formats: Formats) -> Result<DataDirectory, OpenError> {
        let doing = |what: &str| format!("{what} {}", path.display());
        make_private_directory(path).map_err(|e| OpenError::io(doing("making the directory"), e))?;
        let fresh = is_fresh(path).map_err(|e| OpenError::io(doing("reading the directory"), e))?;
        let format_file = path.join(FORMAT_FILE);
        if !fresh && !format_file.exists() {
            return Err(if path.join(log::DIRECTORY).is_dir() {
                let reason = "the FORMAT file is gone, but there is a log".to_owned();
                OpenError::Damaged { file: format_file, offset: 0, reason }
            } else {
                OpenError::NotADataDirectory(path.to_owned())
            });
        }
        let lock = DirectoryLock::take(&path.join(LOCK_FILE))
            .map_err(|e| OpenError::io(doing("locking"), e))?
            .ok_or_else(|| OpenError::InUse(path.to_owned()))?;
        // A follower looks for that lock once it has its own: of the two one is too late.
        if is_locked(&path.join(FOLLOWING_FILE)).map_err(|e| OpenError::io(doing("locking"), e))? {
            return Err(OpenError::InUse(path.to_owned()));
        }
        let format = match read_format(path)? {
            Some(format) => format,
            None => {
                let (version, directory_id) = (formats.newest, new_identity()?);
                let format = Format { version, directory_id, rehearsal, complete: false, made: version };
                write_format(path, &format)?;
                format
            }
        };
        formats.require(format.version)?;
        if format.rehearsal != rehearsal {
            return Err(OpenError::ClockMismatch { directory_is_rehearsal: format.rehearsal });
        }
        Ok(DataDirectory { path: path.to_owned(), format, _lock: lock })
    }

    /// Writes what FORMAT is to say, durably.
    pub(crate) fn note(&self) -> Result<(), OpenError> {
        write_format(&self.path, &self.format)
    }

    /// Notes that everything a data directory consists of is there, durably.
    pub(crate) fn complete(&mut self) -> Result<(), OpenError> {
        if !self.format.complete {
            self.format.complete = true;
            self.note()?;
        }
        Ok(())
    }
}

/// Whether nothing is in the directory but what an interrupted start may have left: the lock, a half-written FORMAT.
fn is_fresh(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if name != LOCK_FILE && name != "FORMAT.tmp" && name != "root.key" {
            return Ok(false);
        }
    }
    Ok(true)
}

fn new_identity() -> Result<Uuid, OpenError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| OpenError::io("drawing random bytes", e))?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
}
