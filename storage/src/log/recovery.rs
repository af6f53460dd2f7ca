//! What a start believes of the log.
//!
//! Segments are read in order; each one's frames count up to the first transaction of the next one, so that a torn
//! end which an earlier start has cut off stays cut off. At the end of the newest segment:
//! a frame that is not sound is *damage* if anything proves that it had been synced (the watermark, or a sound
//! frame behind it, since a frame is written only after its predecessor's sync), and a *torn tail* otherwise.
//!
//! A copy of a directory that was being written to is read by other rules ([`Trust::Copy`]): the copier may have read
//! a page before a frame was written to it and the pages behind it afterwards, and no watermark says anything about it.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use super::format::{self, BLOCK_BYTES, FRAME_HEADER_BYTES, FrameHeader, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::segment::{
    DIRECTORY, FILLING_FILE, FoundSegment, LogPosition, MAKING_FILE, SPARE_FILE, Trust, WATERMARK_FILE, segment_name,
    segment_number,
};
use crate::env::{Disk, DiskFile};
use crate::error::OpenError;
use crate::time::{Lsn, Timestamp};

/// How much of a segment's unused end is looked at in one read; whole blocks.
const SCAN_BYTES: usize = 512 * BLOCK_BYTES;

/// What the log holds, after all of it has been read once.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// Where appending goes on: behind everything that is known to be synced.
    pub(crate) position: LogPosition,
    /// Frames that are sound but not known to be synced; they go to the front of the new segment.
    pub(crate) carried: Vec<(FrameHeader, Vec<u8>)>,
    /// The last transaction of all, carried ones included.
    pub(crate) last_lsn: Lsn,
    /// The writer's time at the last transaction that was read; the epoch if there is none.
    pub(crate) last_time: Timestamp,
    /// How far identifiers had been given out at it.
    pub(crate) id_tick: u64,
    /// The segments, oldest first.
    pub(crate) segments: Vec<FoundSegment>,
    /// Bytes of a torn tail that were cut off, for the log of the start.
    pub(crate) torn_at: Option<(PathBuf, u64)>,
    /// Segments of a copied log that count for nothing: those before a gap which lies below what the tables hold, and
    /// all of them if the log ends before it. They go once a new segment is there.
    pub(crate) stale: Vec<u64>,
}

/// Takes each recovered frame's header and operations.
pub(crate) type Replay<'a> = &'a mut dyn FnMut(&FrameHeader, &[u8]) -> Result<(), OpenError>;

/// Reads the log from the frame that follows `applied` on, handing each later frame that is known to be synced to
/// `replay`. The others come back as `carried`, to be applied once they are durable.
///
/// # Errors
/// [`OpenError::Damaged`] for anything wrong at or below what was synced, [`OpenError::LogGap`] if the log starts
/// too late for `applied`, [`OpenError::Io`] if the disk refuses.
pub(crate) fn recover(
    disk: &dyn Disk,
    directory_id: [u8; 16],
    applied: Lsn,
    trust: Trust,
    replay: Replay<'_>,
) -> Result<Recovered, OpenError> {
    remove_leftovers(disk)?;
    let (stale, segments) = match trust {
        Trust::Original => (Vec::new(), find_segments(disk, directory_id)?),
        Trust::Copy => find_copied_segments(disk, directory_id)?,
    };
    // What the tables hold was synced before it was applied.
    let watermark = match trust {
        Trust::Original => read_watermark(disk, directory_id)?.max(applied),
        Trust::Copy => 0,
    };
    // What was acknowledged before the copy began is not above a copied watermark, which is written before the answer.
    let told_by_copy = match trust {
        Trust::Original => Lsn::MAX,
        Trust::Copy => Some(read_watermark(disk, directory_id)?).filter(|told| *told > 0).unwrap_or(Lsn::MAX),
    };
    let Some(first) = segments.first() else {
        return match trust {
            Trust::Original => empty_log(watermark),
            Trust::Copy => Ok(no_log(applied)),
        };
    };
    if first.header.first_lsn > applied + 1 {
        return Err(OpenError::LogGap { projection: applied, log: first.header.first_lsn });
    }
    let mut reader = LogReader::new(applied, watermark, trust, first);
    reader.told_by_copy = told_by_copy;
    for segment in &segments {
        // What lies wholly below the tables' state was checked when it was applied; `verify` reads it again.
        if segment.end_lsn.is_some_and(|end| end <= applied + 1) {
            reader.skip(segment);
            continue;
        }
        reader.read_segment(disk, segment, replay)?;
    }
    reader.finish(segments, stale)
}

/// The data directory that the first readable segment says it belongs to.
pub(crate) fn directory_id(disk: &dyn Disk) -> Option<[u8; 16]> {
    let names = disk.list().ok()?;
    names.iter().filter(|name| segment_number(name).is_some()).find_map(|name| {
        let mut block = [0; SEGMENT_HEADER_BYTES];
        disk.open(name).ok()?.read_at(0, &mut block).ok()?;
        Some(format::decode_segment_header(&block)?.directory_id)
    })
}

/// The first transaction of the log's last unbroken row of segments; `None` if there is no segment.
pub(crate) fn first_lsn(disk: &dyn Disk, directory_id: [u8; 16]) -> Result<Option<Lsn>, OpenError> {
    let (_, segments) = find_copied_segments(disk, directory_id)?;
    Ok(segments.first().map(|first| first.header.first_lsn))
}

/// Refuses a directory that has no log, for directories that were made to their end.
pub(crate) fn require_log(disk: &dyn Disk) -> Result<(), OpenError> {
    let names = disk.list().map_err(|e| OpenError::io("listing the log directory", e))?;
    if names.iter().any(|name| segment_number(name).is_some()) {
        return Ok(());
    }
    let reason = "the log's segments are gone".to_owned();
    Err(OpenError::Damaged { file: PathBuf::from(DIRECTORY), offset: 0, reason })
}

/// No segment at all: a directory in the making, unless something says that there was one.
fn empty_log(watermark: Lsn) -> Result<Recovered, OpenError> {
    if watermark > 0 {
        let reason = format!("the log's segments are gone, but transactions up to {watermark} were made durable");
        return Err(OpenError::Damaged { file: PathBuf::from(DIRECTORY), offset: 0, reason });
    }
    Ok(no_log(0))
}

/// A log that begins behind what the tables hold.
fn no_log(applied: Lsn) -> Recovered {
    Recovered {
        position: LogPosition { segment: 0, last_lsn: applied, checksum: 0 },
        carried: Vec::new(),
        last_lsn: applied,
        last_time: Timestamp::EPOCH,
        id_tick: 0,
        segments: Vec::new(),
        torn_at: None,
        stale: Vec::new(),
    }
}

/// Files that a crash left in the making hold nothing.
fn remove_leftovers(disk: &dyn Disk) -> Result<(), OpenError> {
    let names = disk.list().map_err(|e| OpenError::io("listing the log directory", e))?;
    for name in [MAKING_FILE, SPARE_FILE, FILLING_FILE] {
        if names.iter().any(|found| found == name) {
            disk.unlink(name).map_err(|e| OpenError::io(format!("removing {name}"), e))?;
        }
    }
    Ok(())
}

pub(crate) fn read_watermark(disk: &dyn Disk, directory_id: [u8; 16]) -> Result<Lsn, OpenError> {
    let doing = "reading the log's watermark";
    let file = match disk.open(WATERMARK_FILE) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(OpenError::io(doing, e)),
    };
    let mut bytes = [0; 64];
    let count = file.read_at(0, &mut bytes).map_err(|e| OpenError::io(doing, e))?;
    Ok(format::decode_watermark(bytes.get(..count).unwrap_or_default(), directory_id).unwrap_or(0))
}

pub(crate) fn find_segments(disk: &dyn Disk, directory_id: [u8; 16]) -> Result<Vec<FoundSegment>, OpenError> {
    let mut segments: Vec<FoundSegment> = Vec::new();
    for header in read_headers(disk, directory_id)? {
        if let Some(previous) = segments.last_mut() {
            if previous.header.number + 1 != header.number || previous.header.first_lsn > header.first_lsn {
                return Err(damaged(header.number, 0, "a segment before this one is missing"));
            }
            previous.end_lsn = Some(header.first_lsn);
        }
        segments.push(FoundSegment { header, end_lsn: None });
    }
    Ok(segments)
}

/// The numbers of the segments before a gap, and the unbroken row behind it: while a copy was made, old segments may
/// have been removed, and not in the order in which the copier came to them.
pub(crate) fn find_copied_segments(
    disk: &dyn Disk,
    directory_id: [u8; 16],
) -> Result<(Vec<u64>, Vec<FoundSegment>), OpenError> {
    let mut rows = find_rows(disk, directory_id)?;
    let last = rows.pop().unwrap_or_default();
    Ok((rows.into_iter().flatten().map(|segment| segment.header.number).collect(), last))
}

/// All unbroken rows of segments, the oldest first.
pub(crate) fn find_rows(disk: &dyn Disk, directory_id: [u8; 16]) -> Result<Vec<Vec<FoundSegment>>, OpenError> {
    let mut rows: Vec<Vec<FoundSegment>> = Vec::new();
    for header in read_headers(disk, directory_id)? {
        let found = FoundSegment { header, end_lsn: None };
        let row = rows.last_mut().filter(|row| row.last().is_some_and(|last| last.header.number + 1 == header.number));
        let Some(row) = row else {
            rows.push(vec![found]);
            continue;
        };
        if let Some(previous) = row.last_mut() {
            if previous.header.first_lsn > header.first_lsn {
                return Err(damaged(header.number, 0, "the segment does not continue the one before it"));
            }
            previous.end_lsn = Some(header.first_lsn);
        }
        row.push(found);
    }
    Ok(rows)
}

/// The headers of all segments, by number.
fn read_headers(disk: &dyn Disk, directory_id: [u8; 16]) -> Result<Vec<SegmentHeader>, OpenError> {
    let names = disk.list().map_err(|e| OpenError::io("listing the log directory", e))?;
    let mut headers = Vec::new();
    for name in &names {
        let Some(number) = segment_number(name) else { continue };
        let file = match disk.open(name) {
            // Beside a running appliance: it removes its oldest ones.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                headers.clear();
                continue;
            }
            other => other.map_err(|e| OpenError::io(format!("opening {name}"), e))?,
        };
        let mut block = [0; SEGMENT_HEADER_BYTES];
        file.read_at(0, &mut block).map_err(|e| OpenError::io(format!("reading {name}"), e))?;
        let header = format::decode_segment_header(&block)
            .ok_or_else(|| damaged(number, 0, "the segment's header is not sound"))?;
        if header.number != number || header.directory_id != directory_id {
            return Err(damaged(number, 0, "the segment belongs to another place or directory"));
        }
        headers.push(header);
    }
    Ok(headers)
}

fn damaged(segment: u64, offset: u64, reason: &str) -> OpenError {
    let file = PathBuf::from(DIRECTORY).join(segment_name(segment));
    OpenError::Damaged { file, offset, reason: reason.to_owned() }
}

/// The state of reading from segment to segment.
struct LogReader {
    applied: Lsn,
    watermark: Lsn,
    trust: Trust,
    /// In a copy: transactions above this need not be there. Unknown is as high as can be.
    told_by_copy: Lsn,
    position: LogPosition,
    /// Whether the checksum in `position` was read; not so behind skipped segments.
    checksum_known: bool,
    last_time: Timestamp,
    id_tick: u64,
    /// Sound frames not yet known to be synced; only the newest segment has such, and hardly ever more than one.
    unproven: VecDeque<(FrameHeader, Vec<u8>)>,
    torn_at: Option<(PathBuf, u64)>,
}

impl LogReader {
    fn new(applied: Lsn, watermark: Lsn, trust: Trust, first: &FoundSegment) -> LogReader {
        let position = LogPosition {
            segment: first.header.number,
            last_lsn: first.header.first_lsn - 1,
            checksum: first.header.previous_checksum,
        };
        LogReader {
            applied,
            watermark,
            trust,
            told_by_copy: Lsn::MAX,
            position,
            checksum_known: false,
            last_time: Timestamp::EPOCH,
            id_tick: 0,
            unproven: VecDeque::new(),
            torn_at: None,
        }
    }

    fn skip(&mut self, segment: &FoundSegment) {
        self.position.segment = segment.header.number;
        self.checksum_known = false;
        if let Some(end) = segment.end_lsn {
            self.position.last_lsn = end - 1;
        }
    }

    fn read_segment(&mut self, disk: &dyn Disk, segment: &FoundSegment, replay: Replay<'_>) -> Result<(), OpenError> {
        let number = segment.header.number;
        if self.position.last_lsn + 1 != segment.header.first_lsn {
            return Err(damaged(number, 0, "transactions before this segment are missing"));
        }
        if self.checksum_known && self.position.checksum != segment.header.previous_checksum {
            return Err(damaged(number, 0, "the segment does not continue the one before it"));
        }
        self.position.segment = number;
        self.position.checksum = segment.header.previous_checksum;
        self.checksum_known = true;
        let name = segment_name(number);
        let file = disk.open(&name).map_err(|e| OpenError::io(format!("opening {name}"), e))?;
        let length = file.len().map_err(|e| OpenError::io(format!("reading {name}"), e))?;
        if length < segment.header.file_bytes {
            let reason = format!("the segment was {} bytes long and has been cut off", segment.header.file_bytes);
            return Err(damaged(number, length, &reason));
        }
        let mut offset = SEGMENT_HEADER_BYTES as u64;
        while segment.end_lsn.is_none_or(|end| self.position.last_lsn + 1 < end) {
            let Some((header, frame)) = read_frame(file.as_ref(), &name, offset, length)? else {
                return self.judge_end(file.as_ref(), segment, offset, length);
            };
            if header.first_lsn != self.position.last_lsn + 1 || header.previous_checksum != self.position.checksum {
                return self.judge_end(file.as_ref(), segment, offset, length);
            }
            self.accept(segment, header, frame, replay)?;
            offset += header.stride();
        }
        Ok(())
    }

    fn accept(
        &mut self,
        segment: &FoundSegment,
        header: FrameHeader,
        frame: Vec<u8>,
        replay: Replay<'_>,
    ) -> Result<(), OpenError> {
        self.position.last_lsn = header.last_lsn();
        self.position.checksum = header.checksum;
        self.last_time = self.last_time.max(header.time);
        self.id_tick = self.id_tick.max(header.id_tick);
        self.watermark = self.watermark.max(header.synced_lsn);
        // A segment that has a successor was synced before the successor was named.
        let is_synced = segment.end_lsn.is_some();
        let proven = if is_synced { header.last_lsn() } else { self.watermark.max(self.applied) };
        self.unproven.push_back((header, frame));
        while self.unproven.front().is_some_and(|(first, _)| first.last_lsn() <= proven) {
            let Some((header, frame)) = self.unproven.pop_front() else { break };
            if header.last_lsn() > self.applied {
                replay(&header, format::payload(&header, &frame))?;
            }
        }
        Ok(())
    }

    /// Reading stopped at `offset` of `segment`: the end, a torn tail, or damage.
    fn judge_end(
        &mut self,
        file: &dyn DiskFile,
        segment: &FoundSegment,
        offset: u64,
        length: u64,
    ) -> Result<(), OpenError> {
        let number = segment.header.number;
        let expected = self.position.last_lsn + 1;
        if segment.end_lsn.is_some() || expected <= self.watermark {
            let reason = format!("transaction {expected} had been made durable and cannot be read");
            return Err(damaged(number, offset, &reason));
        }
        let name = segment_name(number);
        if self.trust == Trust::Copy {
            return self.judge_copied_end(file, &name, offset, length);
        }
        let mut torn = false;
        let found = self.look_behind(file, &name, offset, length, &mut torn)?;
        if found {
            let reason = format!("transaction {expected} cannot be read, but later ones were made durable");
            return Err(damaged(number, offset, &reason));
        }
        if torn {
            self.torn_at = Some((PathBuf::from(DIRECTORY).join(name), offset));
        }
        Ok(())
    }

    fn is_followed_by_proof(
        &self,
        file: &dyn DiskFile,
        name: &str,
        offset: u64,
        length: u64,
    ) -> Result<bool, OpenError> {
        self.look_behind(file, name, offset, length, &mut false)
    }

    /// Whether a sound frame from `offset` on proves that the missing one had been synced; `torn` tells whether there
    /// is anything but zeros.
    fn look_behind(
        &self,
        file: &dyn DiskFile,
        name: &str,
        offset: u64,
        length: u64,
        torn: &mut bool,
    ) -> Result<bool, OpenError> {
        let expected = self.position.last_lsn + 1;
        let mut chunk = vec![0; SCAN_BYTES];
        let mut chunk_at = offset;
        while chunk_at < length {
            let count = file.read_at(chunk_at, &mut chunk).map_err(|e| OpenError::io(format!("reading {name}"), e))?;
            let blocks = chunk.get(..count).unwrap_or_default().chunks(BLOCK_BYTES);
            for (block, at) in blocks.zip((chunk_at..).step_by(BLOCK_BYTES)) {
                if block.iter().all(|byte| *byte == 0) {
                    continue;
                }
                *torn = true;
                if self.proves_damage(file, name, at, length, expected)? {
                    return Ok(true);
                }
            }
            chunk_at += SCAN_BYTES as u64;
        }
        Ok(false)
    }

    /// Reading a copied log stopped in its newest segment: where the copier was faster than the writer, or damage.
    fn judge_copied_end(&mut self, file: &dyn DiskFile, name: &str, offset: u64, length: u64) -> Result<(), OpenError> {
        if offset >= length {
            return Ok(());
        }
        let reading = |e: io::Error| OpenError::io(format!("reading {name}"), e);
        let mut head = [0; FRAME_HEADER_BYTES];
        file.read_at(offset, &mut head).map_err(reading)?;
        let is_missed = match format::decode_frame_header(&head) {
            None => format::header_is_missed(&head),
            Some(header) if offset + header.length() as u64 > length => false,
            Some(header) => {
                let mut frame = vec![0; header.length()];
                file.read_at(offset, &mut frame).map_err(reading)?;
                // A sound frame that does not continue the log is no copier's doing.
                !format::frame_is_sound(&header, &frame) && format::frame_is_missed_in_part(offset, &frame)
            }
        };
        let expected = self.position.last_lsn + 1;
        // Sectors that a power loss has kept from the disk are no copier's doing, but nobody was told of what they held.
        let is_torn = expected > self.told_by_copy && !self.is_followed_by_proof(file, name, offset, length)?;
        if !is_missed && !is_torn {
            let reason = format!("transaction {expected} cannot be read");
            return Err(damaged(self.position.segment, offset, &reason));
        }
        if head.iter().any(|byte| *byte != 0) {
            self.torn_at = Some((PathBuf::from(DIRECTORY).join(name), offset));
        }
        Ok(())
    }

    /// Whether a sound frame stands at `at` that was written after the missing one had been synced.
    fn proves_damage(
        &self,
        file: &dyn DiskFile,
        name: &str,
        at: u64,
        length: u64,
        expected: Lsn,
    ) -> Result<bool, OpenError> {
        Ok(read_frame(file, name, at, length)?.is_some_and(|(header, _)| header.synced_lsn >= expected))
    }

    fn finish(mut self, segments: Vec<FoundSegment>, mut stale: Vec<u64>) -> Result<Recovered, OpenError> {
        let last_lsn = self.position.last_lsn;
        if self.trust == Trust::Copy && last_lsn < self.applied {
            // The copier took the log before it took the checkpoint.
            stale.extend(segments.iter().map(|segment| segment.header.number));
            let position = LogPosition { segment: self.position.segment, last_lsn: self.applied, checksum: 0 };
            return Ok(Recovered { position, stale, torn_at: self.torn_at, ..no_log(self.applied) });
        }
        if last_lsn < self.watermark || last_lsn < self.applied {
            let reason = format!(
                "the log ends at transaction {last_lsn}, but {} were made durable",
                self.watermark.max(self.applied)
            );
            return Err(damaged(self.position.segment, SEGMENT_HEADER_BYTES as u64, &reason));
        }
        if let Some((first, _)) = self.unproven.front() {
            self.position.last_lsn = first.first_lsn - 1;
            self.position.checksum = first.previous_checksum;
        }
        Ok(Recovered {
            position: self.position,
            carried: self.unproven.into(),
            last_lsn,
            last_time: self.last_time,
            id_tick: self.id_tick,
            segments,
            torn_at: self.torn_at,
            stale,
        })
    }
}

/// The sound frame at `offset`, cut to its length; `None` if there is none.
pub(crate) fn read_frame(
    file: &dyn DiskFile,
    name: &str,
    offset: u64,
    length: u64,
) -> Result<Option<(FrameHeader, Vec<u8>)>, OpenError> {
    let reading = |e: io::Error| OpenError::io(format!("reading {name}"), e);
    let mut head = [0; FRAME_HEADER_BYTES];
    file.read_at(offset, &mut head).map_err(reading)?;
    let Some(header) = format::decode_frame_header(&head) else { return Ok(None) };
    if offset + header.length() as u64 > length {
        return Ok(None);
    }
    let mut frame = vec![0; header.length()];
    let count = file.read_at(offset, &mut frame).map_err(reading)?;
    if count < frame.len() || !format::frame_is_sound(&header, &frame) {
        return Ok(None);
    }
    Ok(Some((header, frame)))
}
