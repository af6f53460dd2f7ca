//! FORMAT: what a data directory is, and of which version.

use std::io::{self, Read as _};
use std::path::Path;

use uuid::Uuid;

use crate::env::real::{open_regular, replace_file};
use crate::error::OpenError;

/// The format this binary writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 7;
/// The first there was. Its FORMAT files do not say in which version their directory was made.
pub(crate) const FIRST_VERSION: u32 = 1;

pub(crate) const FORMAT_FILE: &str = "FORMAT";
/// More than a FORMAT file has.
const FORMAT_BYTES_MAX: u64 = 16 << 10;

/// The formats that a binary opens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formats {
    /// The oldest that it migrates from.
    pub(crate) oldest: u32,
    /// The one it writes.
    pub(crate) newest: u32,
}

impl Formats {
    /// Those of this binary.
    pub(crate) const PRESENT: Formats = Formats { oldest: FIRST_VERSION, newest: FORMAT_VERSION };

    /// Whether a directory of this version can be opened.
    ///
    /// # Errors
    /// It is newer than the newest, or older than the oldest.
    pub(crate) fn require(self, version: u32) -> Result<(), OpenError> {
        if version > self.newest {
            return Err(OpenError::NewerFormat { found: version, known: self.newest });
        }
        if version < self.oldest {
            return Err(OpenError::OlderFormat { found: version, oldest: self.oldest });
        }
        Ok(())
    }
}

/// What the FORMAT file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The version that everything below the directory has, or is being brought to.
    pub version: u32,
    /// The directory's own identity; a restored copy keeps it.
    pub directory_id: Uuid,
    /// Whether the directory lives under a rehearsal clock, for good.
    pub rehearsal: bool,
    /// Whether the directory was made to its end: from then on a log that is not there is a log that was lost.
    pub complete: bool,
    /// The version in which the directory was made: that of its rows until a migration notes another beside them.
    pub made: u32,
}

impl Format {
    fn text(&self) -> String {
        let Format { version, directory_id, rehearsal, complete, made } = self;
        let body = format!(
            "# A quintet data directory. Do not edit.\nformat = {version}\ndirectory_id = \"{directory_id}\"\n\
             rehearsal = {rehearsal}\ncomplete = {complete}\nmade = {made}\n"
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
            made: field("made").map_or(Ok(FIRST_VERSION), str::parse).ok()?,
        })
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
    let opened = open_regular(&file);
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
