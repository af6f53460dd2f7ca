//! The instants that a restore can go back to: a checkpoint that holds nothing later, and the log up to there.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::checkpoints::Bound;
use super::place::Note;
use crate::copies::checkpoint;
use crate::copies::making::{CopyError, io_error};
use crate::env::real::ReadOnlyDisk;
use crate::log::format::FrameHeader;
use crate::log::walk::walk_in;
use crate::log::{self, FoundSegment, recovery, segment_name, segment_number};
use crate::time::{Lsn, Timestamp};

/// Where a copy is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The last transaction of it.
    pub(crate) lsn: Lsn,
    /// The checkpoint that it begins with.
    pub(crate) checkpoint: Lsn,
    /// The segment that holds its end.
    segment: u64,
    /// Where in it the end lies.
    offset: u64,
}

impl Cut {
    /// Whether a segment is wanted, by its file name.
    pub(crate) fn wants(&self, name: &str) -> bool {
        segment_number(name).is_some_and(|number| number <= self.segment)
    }
}

/// Where a copy ends that holds what had been written up to an instant and nothing later.
///
/// # Errors
/// [`CopyError::OutOfWindow`] if that cannot be had.
pub(crate) fn cut_at(place: &Path, directory_id: Uuid, until: Timestamp) -> Result<Cut, CopyError> {
    let note = Note::read(place).map_err(io_error("reading the note of", place))?;
    let note = note.ok_or_else(|| CopyError::NoWindow(place.into()))?;
    let disk = ReadOnlyDisk { directory: place.join(log::DIRECTORY) };
    let found = recovery::find_copied_segments(&disk, *directory_id.as_bytes());
    let (_, segments) = found.map_err(CopyError::Source)?;
    let checkpoints = usable(place, segments.first().map_or(Lsn::MAX, |first| first.header.first_lsn))?;
    let (mut cut, mut last) = (None, note.at);
    for segment in &segments {
        let read = walk_in(&disk, segment, |header| header.time <= until).map_err(CopyError::Source)?;
        if let Some(time) = read.time {
            last = last.max(time);
            cut = Some((read.next_lsn - 1, segment.header.number, read.offset));
        }
    }
    if let Some((lsn, segment, offset)) = cut.filter(|_| until <= last) {
        // The newest sound one that holds nothing later.
        for (checkpoint, _) in checkpoints.iter().filter(|(_, bound)| bound.lsn <= lsn) {
            let path = checkpoint::path_of(place, *checkpoint);
            match checkpoint::check(&path, directory_id, &mut |_| Ok(())) {
                Ok(_) => return Ok(Cut { lsn, checkpoint: *checkpoint, segment, offset }),
                Err(mismatch) => tracing::warn!(%mismatch, "a checkpoint cannot be used"),
            }
        }
    }
    let first = first_instant(&disk, segments, checkpoints.last().map(|(_, bound)| bound.lsn))?;
    Err(CopyError::OutOfWindow { first, last })
}

/// The first instant that can be gone back to: at which a checkpoint holds nothing later.
fn first_instant(
    disk: &ReadOnlyDisk,
    segments: Vec<FoundSegment>,
    bound: Option<Lsn>,
) -> Result<Option<Timestamp>, CopyError> {
    let (Some(bound), mut first) = (bound, None) else { return Ok(None) };
    for segment in segments {
        let look = |header: &FrameHeader| {
            first = Some(header.time).filter(|_| header.last_lsn() >= bound);
            first.is_none()
        };
        walk_in(disk, &segment, look).map_err(CopyError::Source)?;
        if first.is_some() {
            break;
        }
    }
    Ok(first)
}

/// The checkpoints that the log goes on from, newest first.
fn usable(place: &Path, first_lsn: Lsn) -> Result<Vec<(Lsn, Bound)>, CopyError> {
    let listed = checkpoint::list(place).map_err(io_error("listing the checkpoints of", place))?;
    let bounds = listed.into_iter().filter_map(|(lsn, path)| Some((lsn, Bound::read(&path)?)));
    Ok(bounds.filter(|(lsn, _)| lsn + 1 >= first_lsn).collect())
}

/// Ends the copied log where the copy is to end.
pub(crate) fn cut_log(copy: &Path, cut: &Cut) -> Result<(), CopyError> {
    let path: PathBuf = copy.join(log::DIRECTORY).join(segment_name(cut.segment));
    let failed = io_error("cutting", &path);
    let file = OpenOptions::new().write(true).open(&path).map_err(&failed)?;
    let length = file.metadata().map_err(&failed)?.len();
    let cut = file.set_len(cut.offset).and_then(|()| file.set_len(length)).and_then(|()| file.sync_all());
    cut.map_err(failed)
}
