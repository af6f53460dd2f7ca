//! Reading every frame of every segment, those that the tables no longer need too; for `verify`.
//!
//! Recovery reads only what it replays and stops at the first fault. This walk goes on with the next segment and says
//! of each fault where it is. It works beside a running appliance: what grows or goes meanwhile is no fault.

use std::io;
use std::path::PathBuf;

use super::recovery;
use super::segment::{DIRECTORY, Trust, segment_name};
use super::walk::{Walked, walk_while};
use crate::env::Disk;
use crate::error::OpenError;
use crate::time::Lsn;

/// What the walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) segments: u64,
    pub(crate) frames: u64,
    pub(crate) first_lsn: Lsn,
    pub(crate) last_lsn: Lsn,
    pub(crate) faults: Vec<Fault>,
}

/// A place where the log is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) file: PathBuf,
    pub(crate) offset: u64,
    pub(crate) reason: String,
}

/// Reads the log of `disk`; `progress` is told the bytes read. Everything up to `synced` must be there.
///
/// # Errors
/// The segments' headers are not sound, or the disk refuses.
pub(crate) fn scan(
    disk: &dyn Disk,
    directory_id: [u8; 16],
    trust: Trust,
    synced: Lsn,
    progress: &mut dyn FnMut(u64),
) -> Result<Scanned, OpenError> {
    let segments = match trust {
        Trust::Original => recovery::find_segments(disk, directory_id)?,
        Trust::Copy => recovery::find_copied_segments(disk, directory_id)?.1,
    };
    let mut scanned = Scanned::default();
    // Of the segment before: the checksum of its last frame, and the transaction behind it.
    let mut previous: Option<(u32, Lsn)> = None;
    for segment in &segments {
        let name = segment_name(segment.header.number);
        let fault = |offset, reason: &str| Fault {
            file: PathBuf::from(DIRECTORY).join(&name),
            offset,
            reason: reason.to_owned(),
        };
        if previous.is_some_and(|(checksum, lsn)| {
            checksum != segment.header.previous_checksum || lsn != segment.header.first_lsn
        }) {
            scanned.faults.push(fault(0, "the segment does not continue the one before it"));
        }
        let file = match disk.open(&name) {
            // A running appliance removes its oldest segments, those before this one among them.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                previous = None;
                continue;
            }
            other => other.map_err(|e| OpenError::io(format!("opening {name}"), e))?,
        };
        let length = file.len().map_err(|e| OpenError::io(format!("reading {name}"), e))?;
        scanned.segments += 1;
        if scanned.first_lsn == 0 {
            scanned.first_lsn = segment.header.first_lsn;
        }
        if length < segment.header.file_bytes {
            scanned.faults.push(fault(length, "the segment has been cut off"));
        }
        let Walked { offset, checksum, next_lsn, frames, .. } = walk_while(file.as_ref(), segment, |_| true)?;
        scanned.frames += frames;
        scanned.last_lsn = next_lsn - 1;
        previous = Some((checksum, next_lsn));
        progress(length);
        match segment.end_lsn {
            Some(end) if next_lsn < end => {
                scanned.faults.push(fault(offset, &format!("transactions {next_lsn} to {} cannot be read", end - 1)));
                // One fault is told once, not as a break at the next segment as well.
                previous = None;
            }
            None if next_lsn <= synced => {
                scanned.faults.push(fault(offset, &format!("transactions {next_lsn} to {synced} cannot be read")));
            }
            _ => {}
        }
    }
    Ok(scanned)
}
