//! The file that checkpoints are anchored in. It lies outside of the data directory, and nothing of it is ever changed: whoever
//! puts an older directory in the place of a newer one cannot take back what stands there.
//!
//! A line of the file is a checkpoint, as exports have it. A crash may leave a part of one, and the same checkpoint may
//! stand there twice: it is written again after a start. What is no such line is passed over; a checkpoint that should be
//! there and is not readable is missing.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{Json, Limits, parse};

use super::checkpoint::Checkpoint;
use crate::model::TenantId;

/// How much of the file is read at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// The file, whether it is there or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorFile {
    path: PathBuf,
    name: String,
}

/// The file of an appliance, if it has one, and what is the matter with it.
#[derive(Debug, Default)]
pub struct Anchoring {
    file: Option<AnchorFile>,
    complaint: Mutex<Option<String>>,
}

impl Anchoring {
    /// Nothing is the matter yet.
    #[must_use]
    pub fn new(file: Option<AnchorFile>) -> Anchoring {
        Anchoring { file, complaint: Mutex::default() }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> Option<&AnchorFile> {
        self.file.as_ref()
    }

    /// Why the file could not be written the last time, if it could not.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how writing it went.
    pub fn note(&self, complaint: Option<String>) {
        *self.complaint.lock().unwrap_or_else(PoisonError::into_inner) = complaint;
    }
}

/// Some lines of the file.
pub struct Block {
    bytes: Vec<u8>,
    /// Where the first begins.
    at: u64,
    /// Where the next block begins; `None`: there is none.
    pub next: Option<u64>,
}

impl AnchorFile {
    /// The file at a path.
    #[must_use]
    pub fn at(path: &Path) -> AnchorFile {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let name = path.display().to_string();
        AnchorFile { path, name }
    }

    /// What checkpoints call it that are to be in it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long it is; 0 if it is not there.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn bytes(&self) -> io::Result<u64> {
        match std::fs::metadata(&self.path) {
            Ok(found) => Ok(found.len()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Adds the lines of checkpoints; they are on the disk when this returns.
    ///
    /// # Errors
    /// They may or may not be there, in part as well.
    pub fn append(&self, checkpoints: &[Checkpoint]) -> io::Result<()> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o640).open(&self.path)?;
        let length = file.metadata()?.len();
        let mut lines = String::new();
        let mut last = [b'\n'];
        if let Some(place) = length.checked_sub(1) {
            file.read_exact_at(&mut last, place)?;
        }
        if last != [b'\n'] {
            // What a crash has cut off stays a line of its own.
            lines.push('\n');
        }
        for checkpoint in checkpoints {
            lines.push_str(&checkpoint.line());
            lines.push('\n');
        }
        file.write_all(lines.as_bytes())?;
        file.sync_all()?;
        if length == 0 {
            // That there is such a file is to last, too.
            let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    }

    /// Reads lines from a place on where one begins. A line that is longer than any checkpoint's is left out, and so is
    /// the last one as long as it has no end.
    ///
    /// # Errors
    /// The file cannot be read; that it is not there is none.
    pub fn block(&self, at: u64) -> io::Result<Block> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Block { bytes: Vec::new(), at, next: None });
            }
            opened => opened?,
        };
        let mut bytes = vec![0; BLOCK_BYTES];
        let mut length = 0;
        while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, at + length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(length);
        let is_full = length == BLOCK_BYTES;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map(|place| place + 1);
        // What is left of a line that fills a block is read as one, and is no checkpoint either.
        let used = end.unwrap_or(if is_full { length } else { 0 });
        bytes.truncate(used);
        Ok(Block { bytes, at, next: is_full.then_some(at + used as u64) })
    }
}

impl Block {
    /// The place behind its last line.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// The checkpoints of one tenant, or of all, with the places behind their lines.
    pub fn checkpoints(&self, only: Option<TenantId>) -> impl Iterator<Item = (u64, Checkpoint)> {
        let wanted = only.map(|tenant_id| tenant_id.0.to_string());
        let mut place = self.at;
        self.bytes.split_inclusive(|byte| *byte == b'\n').filter_map(move |line| {
            place += line.len() as u64;
            let is_wanted = wanted.as_ref().is_none_or(|id| memchr::memmem::find(line, id.as_bytes()).is_some());
            let checkpoint = read_line(if is_wanted { line } else { b"" })?;
            let is_ours = only.is_none_or(|tenant_id| tenant_id == checkpoint.tenant_id);
            is_ours.then_some((place, checkpoint))
        })
    }
}

fn read_line(line: &[u8]) -> Option<Checkpoint> {
    let line = line.strip_suffix(b"\n")?;
    let json = parse(line, Limits::default()).ok()?;
    let checkpoint = json.get("checkpoint")?;
    let text = |name: &str| checkpoint.get(name).and_then(Json::as_str);
    let Some(Json::Number(seq)) = checkpoint.get("seq") else { return None };
    Some(Checkpoint {
        tenant_id: TenantId(parse_uuid(text("tenant_id")?)?),
        seq: seq.as_u64()?,
        hash: bytes_of(text("hash")?)?,
        at: text("at")?.to_owned(),
        key_id: bytes_of(text("key_id")?)?,
        signature: bytes_of(text("signature")?)?,
    })
}

fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}
