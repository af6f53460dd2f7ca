//! The data directory: its lock and its FORMAT file.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::env::real::{DirectoryLock, make_private_directory, replace_file};
use crate::error::OpenError;
use crate::log;
use crate::migration::Migrations;

/// The format this binary writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

pub(crate) const FORMAT_FILE: &str = "FORMAT";
/// More than a FORMAT file has.
const FORMAT_BYTES_MAX: u64 = 16 << 10;
const LOCK_FILE: &str = "LOCK";

/// What the FORMAT file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The version of everything below the directory.
    pub version: u32,
    /// The directory's own identity; a restored copy keeps it.
    pub directory_id: Uuid,
    /// Whether the directory lives under a rehearsal clock, for good.
    pub rehearsal: bool,
    /// Whether the directory was made to its end: from then on a log that is not there is a log that was lost.
    pub complete: bool,
}

impl Format {
    fn text(&self) -> String {
        let Format { version, directory_id, rehearsal, complete } = self;
        let body = format!(
            "# A quintet data directory. Do not edit.\nformat = {version}\ndirectory_id = \"{directory_id}\"\n\
             rehearsal = {rehearsal}\ncomplete = {complete}\n"
        );
        format!("{body}check = {:08x}\n", crc32c::crc32c(body.as_bytes()))
    }

    fn parse(text: &str) -> Option<Format> {
        let field = |name: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, v)| v.trim())
        };
        let version = field("format")?.parse().ok()?;
        // What a newer version writes behind its number is its own affair.
        if version <= FORMAT_VERSION {
            let (body, check) = text.rsplit_once("check = ")?;
            (check.trim_end() == format!("{:08x}", crc32c::crc32c(body.as_bytes()))).then_some(())?;
        }
        Some(Format {
            version,
            directory_id: field("directory_id")?.trim_matches('"').parse().ok()?,
            rehearsal: field("rehearsal")?.parse().ok()?,
            complete: field("complete")?.parse().ok()?,
        })
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
    pub(crate) fn open(path: &Path, rehearsal: bool, migrations: Migrations) -> Result<DataDirectory, OpenError> {
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
        let format = match read_format(path)? {
            Some(format) => format,
            None => {
                let format =
                    Format { version: migrations.newest, directory_id: new_identity()?, rehearsal, complete: false };
                write_format(path, &format)?;
                format
            }
        };
        migrations.require_reachable(format.version)?;
        if format.rehearsal != rehearsal {
            return Err(OpenError::ClockMismatch { directory_is_rehearsal: format.rehearsal });
        }
        Ok(DataDirectory { path: path.to_owned(), format, _lock: lock })
    }

    /// Notes that the directory has been migrated, durably.
    pub(crate) fn migrated(&mut self, version: u32) -> Result<(), OpenError> {
        self.format.version = version;
        write_format(&self.path, &self.format)
    }

    /// Notes that everything a data directory consists of is there, durably.
    pub(crate) fn complete(&mut self) -> Result<(), OpenError> {
        if !self.format.complete {
            self.format.complete = true;
            write_format(&self.path, &self.format)?;
        }
        Ok(())
    }
}

pub(crate) fn write_format(path: &Path, format: &Format) -> Result<(), OpenError> {
    replace_file(&path.join(FORMAT_FILE), format.text().as_bytes())
        .map_err(|e| OpenError::io(format!("writing the FORMAT file of {}", path.display()), e))
}

/// Reads a directory's FORMAT file without locking anything; `None` if there is none.
///
/// # Errors
/// [`OpenError::Damaged`] if it is not what was written, [`OpenError::Io`] if it cannot be read.
pub fn read_format(path: &Path) -> Result<Option<Format>, OpenError> {
    let file = path.join(FORMAT_FILE);
    let mut bytes = Vec::new();
    let opened = crate::manifest::open_regular(&file);
    let text = match opened.and_then(|open| open.take(FORMAT_BYTES_MAX).read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(OpenError::io(format!("reading {}", file.display()), e)),
    };
    match Format::parse(&text) {
        Some(format) => Ok(Some(format)),
        None => Err(OpenError::Damaged { file, offset: 0, reason: "the FORMAT file is not readable".to_owned() }),
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
