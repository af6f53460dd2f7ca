//! The directory that follows: whose it is, who works on it, and what it says of itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use uuid::Uuid;

use super::checkpoints::Checkpoints;
use super::former;
use super::ship::{Shipped, Shipping};
use crate::copies::checkpoint;
use crate::copies::making::{CopyError, io_error};
use crate::directory::format::{FORMAT_FILE, Format, read_format};
use crate::directory::identity;
use crate::directory::lock::is_worked_on;
use crate::env::real::{DirectoryLock, make_private_directory, open_regular, replace_file};
use crate::error::OpenError;
use crate::log;
use crate::time::{Lsn, Timestamp};

/// Says that a directory follows another, and how far.
pub(crate) const NOTE_FILE: &str = "FOLLOWED";
pub(crate) use crate::directory::lock::FOLLOWING_FILE as LOCK_FILE;
const TITLE: &str = "quintet continuous backup 1";
/// More than a note has.
const NOTE_BYTES_MAX: u64 = 4 << 10;

/// Whether a directory is a continuous backup.
#[must_use]
pub fn is_followed(place: &Path) -> bool {
    place.join(NOTE_FILE).is_file()
}

/// Up to where a directory follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Note {
    /// Everything up to this transaction is there.
    pub(super) lsn: Lsn,
    /// Everything that was acknowledged before is there.
    pub(super) at: Timestamp,
}

impl Note {
    /// Reads a directory's note; `None` if there is none.
    pub(super) fn read(place: &Path) -> io::Result<Option<Note>> {
        let mut text = String::new();
        match open_regular(&place.join(NOTE_FILE)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?.take(NOTE_BYTES_MAX).read_to_string(&mut text)?,
        };
        Note::parse(&text).map(Some).ok_or_else(|| io::Error::other(format!("{NOTE_FILE} is not what was written")))
    }

    fn parse(text: &str) -> Option<Note> {
        let (body, check) = text.rsplit_once("check ")?;
        (check.trim_end() == format!("{:08x}", crc32c::crc32c(body.as_bytes()))).then_some(())?;
        let mut lines = body.lines();
        (lines.next()? == TITLE).then_some(())?;
        let lsn = lines.next()?.strip_prefix("lsn ")?.parse().ok()?;
        let at = lines.next()?.strip_prefix("at_micros ")?.parse().ok()?;
        Some(Note { lsn, at: Timestamp::from_micros(at) })
    }

    pub(super) fn write(self, place: &Path) -> io::Result<()> {
        let body = format!("{TITLE}\nlsn {}\nat_micros {}\n", self.lsn, self.at.as_micros());
        let text = format!("{body}check {:08x}\n", crc32c::crc32c(body.as_bytes()));
        replace_file(&place.join(NOTE_FILE), text.as_bytes())
    }
}

/// Keeps a directory as a copy of a data directory.
pub struct Follower {
    data: PathBuf,
    place: PathBuf,
    format: Format,
    shipping: Shipping,
    /// What further files were like when they were last copied.
    seen: BTreeMap<String, (u64, Option<SystemTime>)>,
    _lock: DirectoryLock,
}

impl Follower {
    /// Takes a directory as the one that follows `data`: one that is absent or empty, or has followed it before.
    ///
    /// # Errors
    /// See [`CopyError`]; above all [`CopyError::Foreign`] and [`CopyError::NotEmpty`].
    pub fn open(data: &Path, place: &Path) -> Result<Follower, CopyError> {
        let format = read_format(data).map_err(CopyError::Source)?;
        let format = format.ok_or_else(|| CopyError::Source(OpenError::NotADataDirectory(data.into())))?;
        make_place(place)?;
        let in_use = || CopyError::Source(OpenError::InUse(place.into()));
        let lock = DirectoryLock::take(&place.join(LOCK_FILE)).map_err(io_error("locking", place))?;
        let lock = lock.ok_or_else(in_use)?;
        if is_worked_on(place).map_err(io_error("locking", place))? {
            return Err(in_use());
        }
        let noted = Note::read(place).map_err(io_error("reading the note of", place))?.unwrap_or_default();
        check_owner(place, &format)?;
        noted.write(place).map_err(io_error("writing the note of", place))?;
        for name in [log::DIRECTORY, checkpoint::DIRECTORY] {
            make_private_directory(&place.join(name)).map_err(io_error("making", place))?;
        }
        let text = fs::read(data.join(FORMAT_FILE)).map_err(io_error("reading FORMAT of", data))?;
        replace_file(&place.join(FORMAT_FILE), &text).map_err(io_error("writing FORMAT of", place))?;
        let shipping =
            Shipping::new(data, place, *format.directory_id.as_bytes()).map_err(io_error("opening", place))?;
        let (data, place, seen) = (data.into(), place.into(), BTreeMap::new());
        Ok(Follower { data, place, format, shipping, seen, _lock: lock })
    }

    /// Its checkpoints, which another thread may care for.
    #[must_use]
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(&self.data, &self.place, self.format.directory_id)
    }

    /// Ships what is known to be synced and is not there yet, a piece of it at a time.
    ///
    /// # Errors
    /// [`CopyError::Diverged`] if the directory holds transactions that the data directory does not have,
    /// [`CopyError::Damaged`] if its log is not what was written; else the operating system's, after which it may be
    /// tried again.
    pub fn ship(&mut self) -> Result<Shipped, CopyError> {
        self.shipping.ship()
    }

    /// Notes that everything up to a transaction, and all that was acknowledged before an instant, is there.
    ///
    /// # Errors
    /// The operating system refused.
    pub fn note(&self, lsn: Lsn, at: Timestamp) -> Result<(), CopyError> {
        Note { lsn, at }.write(&self.place).map_err(io_error("writing the note of", &self.place))
    }

    /// Copies further files, with the names they get (the root key), if they are not as they were. What one said before is
    /// kept, for restores to an instant before `now`.
    ///
    /// # Errors
    /// One cannot be read or written.
    pub fn copy_extra(&mut self, now: Timestamp, files: &[(PathBuf, String)]) -> Result<(), CopyError> {
        for (from, name) in files {
            let found = fs::metadata(from).map_err(io_error("reading", from))?;
            let looks = (found.len(), found.modified().ok());
            if self.seen.get(name) == Some(&looks) {
                continue;
            }
            let content = fs::read(from).map_err(io_error("reading", from))?;
            let to = self.place.join(name);
            former::keep(&self.place, name, &content, now).map_err(io_error("keeping what was in", &to))?;
            replace_file(&to, &content).map_err(io_error("writing", &to))?;
            self.seen.insert(name.clone(), looks);
        }
        Ok(())
    }
}

/// Makes the directory, if only its own name is missing: a disk that is not mounted must not be taken for an empty one.
fn make_place(place: &Path) -> Result<(), CopyError> {
    match fs::read_dir(place) {
        Ok(mut entries) => {
            // What a first start has left that was killed, or had no room, is nothing.
            let note = Path::new(NOTE_FILE).with_extension("tmp");
            let is_nothing = |name: &Path| [Path::new(LOCK_FILE), &note].contains(&name);
            let is_new = entries.all(|entry| entry.is_ok_and(|entry| is_nothing(Path::new(&entry.file_name()))));
            if !is_new && !is_followed(place) {
                return Err(CopyError::NotEmpty(place.into()));
            }
            check_rights(place)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let parent = place.parent().unwrap_or(Path::new("/"));
            fs::metadata(parent).map_err(io_error("looking for", parent))?;
            make_private_directory(place).map_err(io_error("making", place))
        }
        Err(e) => Err(io_error("reading", place)(e)),
    }
}

/// Whether nobody else can write into a directory: it gets the root key, and what stands there is believed.
fn check_rights(place: &Path) -> Result<(), CopyError> {
    const OTHERS_MAY_WRITE: u32 = 0o022;
    let found = fs::metadata(place).map_err(io_error("looking at", place))?;
    let own = rustix::process::geteuid().as_raw();
    let reason = if found.uid() != own && found.uid() != 0 {
        format!("it is that of user {}, who could change what is written there", found.uid())
    } else if found.mode() & OTHERS_MAY_WRITE != 0 {
        "others may write into it; `chmod go-w` keeps them out".to_owned()
    } else {
        return Ok(());
    };
    Err(CopyError::Foreign { place: place.into(), reason })
}

/// Whether a directory may go on following.
fn check_owner(place: &Path, format: &Format) -> Result<(), CopyError> {
    let foreign = |reason: String| Err(CopyError::Foreign { place: place.into(), reason });
    let Some(own) = read_format(place).map_err(CopyError::Source)? else { return Ok(()) };
    if own.directory_id != format.directory_id {
        return foreign(format!("it follows another data directory ({})", Uuid::hyphenated(own.directory_id)));
    }
    if own.version != format.version {
        return foreign(format!("it holds format {}, the data directory has {}", own.version, format.version));
    }
    if place.join(identity::FILE).exists() {
        return foreign("it has been started as an appliance of its own".to_owned());
    }
    Ok(())
}
