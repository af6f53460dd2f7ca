//! Directories in the making: a copy has another name until it is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::env::real::{make_private_directory, sync_directory};
use crate::error::OpenError;
use crate::time::Timestamp;

/// Why a backup or restore was not made. What had been written is removed.
#[derive(Debug)]
pub enum CopyError {
    /// The destination exists and is not an empty directory.
    NotEmpty(PathBuf),
    /// What an interrupted run left lies in the way.
    Leftover(PathBuf),
    /// The source is not what was written.
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What was written does not read back.
    NotReadBack {
        /// The file.
        file: PathBuf,
        /// What came back instead.
        reason: String,
    },
    /// The directory follows something else.
    Foreign {
        /// The directory.
        place: PathBuf,
        /// What it follows, or is.
        reason: String,
    },
    /// The directory holds transactions that the data directory does not have: one of them has gone another way, as a
    /// restored one does.
    Diverged(PathBuf),
    /// The source says of no instant what was there then: it is no continuous backup.
    NoWindow(PathBuf),
    /// The source does not reach back, or forward, to an instant.
    OutOfWindow {
        /// The earliest instant, if there is any.
        first: Option<Timestamp>,
        /// The last one.
        last: Timestamp,
    },
    /// The source is no data directory, or one of a newer version.
    Source(OpenError),
    /// The operating system refused.
    Io {
        /// What was tried.
        doing: String,
        /// What kind of refusal it is: a full disk, for instance.
        kind: io::ErrorKind,
        /// What came back.
        reason: String,
    },
}

impl CopyError {
    pub(crate) fn io(doing: impl Into<String>, error: &io::Error) -> CopyError {
        CopyError::Io { doing: doing.into(), kind: error.kind(), reason: error.to_string() }
    }

    /// Whether there was no room for what was to be written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, CopyError::Io { kind: io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, .. })
    }
}

impl std::fmt::Display for CopyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CopyError::NotEmpty(path) => write!(f, "{} exists and is not an empty directory", path.display()),
            CopyError::Leftover(path) => write!(f, "{} is there, from a run that was interrupted", path.display()),
            CopyError::Damaged { file, reason } => write!(f, "damage in {}: {reason}", file.display()),
            CopyError::NotReadBack { file, reason } => {
                write!(f, "{} does not read back as it was written: {reason}", file.display())
            }
            CopyError::Foreign { place, reason } => write!(f, "{} cannot follow: {reason}", place.display()),
            CopyError::Diverged(path) => write!(f, "{} holds what the data directory does not have", path.display()),
            CopyError::NoWindow(path) => write!(f, "{} is no continuous backup", path.display()),
            CopyError::OutOfWindow { .. } => f.write_str("the instant is outside of what is kept"),
            CopyError::Source(error) => write!(f, "{error}"),
            CopyError::Io { doing, reason, .. } => write!(f, "{doing}: {reason}"),
        }
    }
}

impl std::error::Error for CopyError {}

pub(crate) fn io_error(doing: &str, path: &Path) -> impl Fn(io::Error) -> CopyError {
    let doing = format!("{doing} {}", path.display());
    move |error| CopyError::io(doing.clone(), &error)
}

/// A directory under another name until it is complete; it goes when that fails.
pub(crate) struct InTheMaking {
    destination: PathBuf,
    pub(crate) place: PathBuf,
    is_kept: bool,
}

impl InTheMaking {
    /// # Errors
    /// The destination is not empty, or something lies in the way.
    pub(crate) fn new(destination: &Path) -> Result<InTheMaking, CopyError> {
        let is_taken = match fs::read_dir(destination) {
            Ok(mut entries) => entries.next().is_some(),
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => true,
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(io_error("reading", destination)(e)),
        };
        if is_taken {
            return Err(CopyError::NotEmpty(destination.into()));
        }
        // What cannot make way at the end, a mount point or a link, is told before anything is copied.
        match fs::remove_dir(destination) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("an empty directory cannot be replaced (name one below it):", destination)(e));
            }
            _ => {}
        }
        let mut name = destination.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let place = destination.with_file_name(name);
        if place.exists() {
            return Err(CopyError::Leftover(place));
        }
        make_private_directory(&place).map_err(io_error("making", &place))?;
        Ok(InTheMaking { destination: destination.into(), place, is_kept: false })
    }

    /// Gives it its name.
    pub(crate) fn keep(mut self) -> Result<(), CopyError> {
        let failed = io_error("naming", &self.destination);
        sync_directory(&self.place).map_err(&failed)?;
        match fs::remove_dir(&self.destination) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        fs::rename(&self.place, &self.destination).map_err(&failed)?;
        self.is_kept = true;
        let parent = self.destination.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(parent.unwrap_or(Path::new("."))).map_err(&failed)
    }
}

impl Drop for InTheMaking {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nothing of it counts; if it cannot be removed, the next run says that it lies there.
            let _ = fs::remove_dir_all(&self.place);
        }
    }
}
