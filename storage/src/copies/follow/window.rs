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
    /// The first segment of the row that holds its end.
    first_segment: u64,
    /// The segment that holds its end.
    segment: u64,
    /// Where in it the end lies.
    offset: u64,
}

impl Cut {
    /// Whether a segment is wanted, by its file name.
    pub(crate) fn wants(&self, name: &str) -> bool {
        segment_number(name).is_some_and(|number| (self.first_segment..=self.segment).contains(&number))
    }
}

/// How far a row of segments can be followed.
#[derive(Default)]
struct Reach {
    /// The last transaction, its segment, and where behind it that goes on.
    end: Option<(Lsn, u64, u64)>,
    /// The writer's time at the last transaction.
    time: Option<Timestamp>,
    /// Whether a later frame was seen.
    is_past: bool,
    /// The segment whose frames end before they should.
    broken: Option<u64>,
}

/// Follows a row up to an instant. `told`: it holds everything up to this transaction, or has decayed.
fn reach(disk: &ReadOnlyDisk, row: &[FoundSegment], until: Timestamp, told: Lsn) -> Result<Reach, CopyError> {
    let mut reach = Reach::default();
    for segment in row {
        let look = |header: &FrameHeader| {
            reach.is_past = header.time > until;
            !reach.is_past
        };
        let read = walk_in(disk, segment, look).map_err(CopyError::Source)?;
        if read.time.is_some() {
            reach.time = read.time;
            reach.end = Some((read.next_lsn - 1, segment.header.number, read.offset));
        }
        let end = segment.end_lsn.unwrap_or(told.saturating_add(1));
        if !reach.is_past && read.next_lsn < end {
            reach.broken = Some(segment.header.number);
        }
        if reach.is_past || reach.broken.is_some() {
            break;
        }
    }
    Ok(reach)
}

/// Where a copy ends that holds what had been written up to an instant and nothing later.
///
/// # Errors
/// [`CopyError::OutOfWindow`] if that cannot be had.
pub(crate) fn cut_at(place: &Path, directory_id: Uuid, until: Timestamp) -> Result<Cut, CopyError> {
    let note = Note::read(place).map_err(io_error("reading the note of", place))?;
    let note = note.ok_or_else(|| CopyError::NoWindow(place.into()))?;
    let disk = ReadOnlyDisk { directory: place.join(log::DIRECTORY) };
    let rows = recovery::find_rows(&disk, *directory_id.as_bytes()).map_err(CopyError::Source)?;
    let newest = rows.len().saturating_sub(1);
    let (mut first, mut last) = (None, Timestamp::EPOCH);
    for (place_of_row, row) in rows.into_iter().enumerate().rev() {
        let is_newest = place_of_row == newest;
        let checkpoints = usable(place, &row)?;
        let reach = reach(&disk, &row, until, if is_newest { note.lsn } else { 0 })?;
        // Of what came before a gap nobody knows how long nothing followed.
        let silence = Some(note.at).filter(|_| is_newest && reach.broken.is_none());
        let row_last = reach.time.max(silence).unwrap_or(Timestamp::EPOCH);
        let is_within = reach.is_past || until <= row_last;
        if let (Some((lsn, segment, offset)), true, Some(first)) = (reach.end, is_within, row.first())
            && let Some(checkpoint) = newest_sound(place, directory_id, &checkpoints, lsn)
        {
            return Ok(Cut { lsn, checkpoint, first_segment: first.header.number, segment, offset });
        }
        first = first_instant(&disk, row, checkpoints.last().map(|(_, bound)| bound.lsn))?.or(first);
        last = last.max(row_last);
    }
    Err(CopyError::OutOfWindow { first, last })
}

/// The newest sound one that holds nothing later than a transaction.
fn newest_sound(place: &Path, directory_id: Uuid, checkpoints: &[(Lsn, Bound)], lsn: Lsn) -> Option<Lsn> {
    let is_sound = |checkpoint: Lsn| {
        let checked = checkpoint::check(&checkpoint::path_of(place, checkpoint), directory_id, &mut |_| Ok(()));
        checked.inspect_err(|mismatch| tracing::warn!(%mismatch, "a checkpoint cannot be used")).is_ok()
    };
    let mut earlier = checkpoints.iter().filter(|(_, bound)| bound.lsn <= lsn).map(|(checkpoint, _)| *checkpoint);
    earlier.find(|checkpoint| is_sound(*checkpoint))
}

/// Whether the log of a continuous backup still holds, above a checkpoint, all that its note says it does. Any other
/// directory's is judged by whoever opens it.
///
/// # Errors
/// [`CopyError::Damaged`] if it does not.
pub(crate) fn check_whole(place: &Path, directory_id: Uuid, checkpoint: Lsn) -> Result<(), CopyError> {
    let note = Note::read(place).map_err(io_error("reading the note of", place))?;
    let Some(note) = note.filter(|note| note.lsn > checkpoint) else { return Ok(()) };
    let disk = ReadOnlyDisk { directory: place.join(log::DIRECTORY) };
    let (_, mut row) = recovery::find_copied_segments(&disk, *directory_id.as_bytes()).map_err(CopyError::Source)?;
    row.retain(|segment| segment.end_lsn.is_none_or(|end| end > checkpoint + 1));
    let reach = reach(&disk, &row, Timestamp::from_micros(i64::MAX), note.lsn)?;
    let ends_at = reach.end.map_or(checkpoint, |(lsn, ..)| lsn);
    let number = match (reach.broken, row.last()) {
        (None, Some(_)) => return Ok(()),
        (broken, last) => broken.or(last.map(|last| last.header.number)).unwrap_or_default(),
    };
    let reason =
        format!("it ends at transaction {ends_at}, and {} were there; --at restores what stands before", note.lsn);
    Err(CopyError::Damaged { file: disk.directory.join(segment_name(number)), reason })
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

/// The checkpoints that a row goes on from, newest first.
fn usable(place: &Path, row: &[FoundSegment]) -> Result<Vec<(Lsn, Bound)>, CopyError> {
    let first_lsn = row.first().map_or(Lsn::MAX, |first| first.header.first_lsn);
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
