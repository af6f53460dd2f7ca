//! Appending to the log: frames into zero-filled segments, each synced before the next is written.

use std::io;
use std::sync::Arc;

use super::format::{self, FrameHeader, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::segment::{
    ClosedSegment, FILLING_FILE, LogPosition, MAKING_FILE, SPARE_FILE, Trust, WATERMARK_FILE, segment_name,
};
use crate::env::{Disk, DiskFile};
use crate::time::Lsn;

/// How much is written at once when a new segment is filled with zeros.
const ZERO_CHUNK_BYTES: usize = 1 << 20;
/// How much of a spare segment is synced at once: whoever syncs a commit meanwhile waits behind no more than this.
const SPARE_SYNC_BYTES: u64 = 4 << 20;

/// The one appender. After an error it must not be used again: what it wrote may or may not be on disk.
pub(crate) struct LogWriter {
    disk: Arc<dyn Disk>,
    directory_id: [u8; 16],
    segment_bytes: u64,
    file: Box<dyn DiskFile>,
    watermark: Box<dyn DiskFile>,
    segment: u64,
    offset: u64,
    next_lsn: Lsn,
    checksum: u32,
    synced_lsn: Lsn,
    closed: Vec<ClosedSegment>,
}

impl LogWriter {
    /// Starts a new segment behind `position`, with `carried` frames in front (what recovery accepted without
    /// knowing it synced), all durable when this returns.
    pub(crate) fn start(
        disk: Arc<dyn Disk>,
        directory_id: [u8; 16],
        segment_bytes: u64,
        position: LogPosition,
        carried: Vec<(FrameHeader, Vec<u8>)>,
        trust: Trust,
    ) -> io::Result<LogWriter> {
        let segment = position.segment + 1;
        let mut next_lsn = position.last_lsn + 1;
        let mut checksum = position.checksum;
        let file = fill(disk.as_ref(), MAKING_FILE, segment_bytes, segment_bytes)?;
        let header = SegmentHeader {
            number: segment,
            first_lsn: next_lsn,
            previous_checksum: checksum,
            directory_id,
            file_bytes: segment_bytes,
        };
        file.write_at(0, &format::encode_segment_header(&header))?;
        let mut offset = SEGMENT_HEADER_BYTES as u64;
        for (mut header, mut frame) in carried {
            header.previous_checksum = checksum;
            header.synced_lsn = next_lsn - 1;
            frame.truncate(format::FRAME_HEADER_BYTES + header.payload_bytes as usize);
            format::seal_frame(&mut frame, &mut header);
            file.write_at(offset, &frame)?;
            offset += header.stride();
            next_lsn = header.last_lsn() + 1;
            checksum = header.checksum;
        }
        publish(disk.as_ref(), file.as_ref(), segment)?;
        let watermark = match disk.open(WATERMARK_FILE) {
            // A copied watermark is of another moment than the segments. Now that the new one has its name nobody
            // asks it any more, and it must be gone before the directory counts as an original.
            Ok(_) if trust == Trust::Copy => disk.create(WATERMARK_FILE)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => disk.create(WATERMARK_FILE)?,
            other => other?,
        };
        let writer = LogWriter {
            disk,
            directory_id,
            segment_bytes,
            file,
            watermark,
            segment,
            offset,
            next_lsn,
            checksum,
            synced_lsn: next_lsn - 1,
            closed: Vec::new(),
        };
        if trust == Trust::Copy {
            writer.watermark.write_at(0, &format::encode_watermark(writer.synced_lsn, directory_id))?;
            writer.watermark.sync_data()?;
            writer.disk.sync_directory()?;
        } else {
            writer.note_watermark();
        }
        Ok(writer)
    }

    /// Appends one frame and syncs it. `frame` came from [`format::begin_frame`] with operations behind it;
    /// `header` says transactions and time.
    pub(crate) fn append(&mut self, frame: &mut Vec<u8>, mut header: FrameHeader) -> io::Result<Lsn> {
        header.first_lsn = self.next_lsn;
        header.previous_checksum = self.checksum;
        header.synced_lsn = self.synced_lsn;
        format::seal_frame(frame, &mut header);
        if self.offset + frame.len() as u64 > self.segment_bytes {
            self.roll(frame.len() as u64)?;
        }
        self.file.write_at(self.offset, frame)?;
        self.file.sync_data()?;
        self.offset += frame.len() as u64;
        self.next_lsn = header.last_lsn() + 1;
        self.checksum = header.checksum;
        self.synced_lsn = header.last_lsn();
        self.note_watermark();
        Ok(self.synced_lsn)
    }

    /// The next segment. Everything in the present one is synced already.
    fn roll(&mut self, needed: u64) -> io::Result<()> {
        let number = self.segment + 1;
        let bytes = self.segment_bytes.max(needed + SEGMENT_HEADER_BYTES as u64);
        let file = match self.disk.rename(SPARE_FILE, MAKING_FILE) {
            Ok(()) if bytes == self.segment_bytes => self.disk.open(MAKING_FILE)?,
            Ok(()) => fill(self.disk.as_ref(), MAKING_FILE, bytes, bytes)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => fill(self.disk.as_ref(), MAKING_FILE, bytes, bytes)?,
            Err(e) => return Err(e),
        };
        let header = SegmentHeader {
            number,
            first_lsn: self.next_lsn,
            previous_checksum: self.checksum,
            directory_id: self.directory_id,
            file_bytes: bytes,
        };
        file.write_at(0, &format::encode_segment_header(&header))?;
        publish(self.disk.as_ref(), file.as_ref(), number)?;
        self.closed.push(ClosedSegment { number: self.segment, next_lsn: self.next_lsn });
        self.file = file;
        self.segment = number;
        self.offset = SEGMENT_HEADER_BYTES as u64;
        Ok(())
    }

    /// Remembers the last synced transaction in a file of its own, without waiting for the disk: it survives
    /// kill -9 and mostly power loss, and lets a start tell damage from a torn tail. Losing it loses only that.
    fn note_watermark(&self) {
        let bytes = format::encode_watermark(self.synced_lsn, self.directory_id);
        if let Err(error) = self.watermark.write_at(0, &bytes) {
            tracing::warn!(%error, "the log's watermark file could not be written");
        }
    }

    /// Segments closed since the last call.
    pub(crate) fn take_closed(&mut self) -> Vec<ClosedSegment> {
        std::mem::take(&mut self.closed)
    }
}

/// Lays a zero-filled file ready for the next segment. Runs beside the appender.
pub(crate) fn prepare_spare(disk: &dyn Disk, bytes: u64) -> io::Result<()> {
    match fill(disk, FILLING_FILE, bytes, SPARE_SYNC_BYTES) {
        Ok(_) => disk.rename(FILLING_FILE, SPARE_FILE),
        Err(error) => {
            // Half a file must not keep what is left of a full disk.
            let _ = disk.unlink(FILLING_FILE);
            Err(error)
        }
    }
}

/// A file full of zeros, synced whenever `sync_bytes` are written and at its end: overwriting it later changes no
/// metadata, so a sync is one write.
fn fill(disk: &dyn Disk, name: &str, bytes: u64, sync_bytes: u64) -> io::Result<Box<dyn DiskFile>> {
    let file = disk.create(name)?;
    let zeros = vec![0; ZERO_CHUNK_BYTES.min(usize::try_from(bytes).unwrap_or(ZERO_CHUNK_BYTES))];
    let mut offset = 0;
    while offset < bytes {
        let count = zeros.len().min(usize::try_from(bytes - offset).unwrap_or(zeros.len()));
        file.write_at(offset, zeros.get(..count).unwrap_or(&zeros))?;
        offset += count as u64;
        if offset.is_multiple_of(sync_bytes) || offset == bytes {
            file.sync_data()?;
        }
    }
    Ok(file)
}

/// Syncs the file in the making and gives it a segment's name, durably: a segment is there whole or not at all.
fn publish(disk: &dyn Disk, file: &dyn DiskFile, number: u64) -> io::Result<()> {
    file.sync_data()?;
    disk.rename(MAKING_FILE, &segment_name(number))?;
    disk.sync_directory()
}
