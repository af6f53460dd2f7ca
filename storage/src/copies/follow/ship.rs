//! Shipping the log: frames that are known to be synced, written behind one another to the same places of the same files.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::copies::checkpoint;
use crate::copies::making::{CopyError, io_error};
use crate::env::real::{ReadOnlyDisk, sync_directory};
use crate::env::{Disk, DiskFile};
use crate::error::OpenError;
use crate::log::format::{self, FrameHeader, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::walk::{Walked, walk_in};
use crate::log::{self, FoundSegment, recovery, segment_name};
use crate::time::{Lsn, Timestamp};

/// Bytes that are written before they are synced, about: so much is lost of what is shipped at a time.
const PIECE_BYTES: usize = 4 << 20;
/// A segment in the making.
const MAKING: &str = "following.tmp";

/// What one look at the log came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    /// Everything up to this transaction is there and synced.
    pub lsn: Lsn,
    /// The writer's time at the last transaction that was shipped now; the epoch if none was.
    pub time: Timestamp,
    /// Bytes of log that were shipped now.
    pub bytes: u64,
    /// Whether everything is there that was known to be synced when the look began.
    pub is_caught_up: bool,
    /// Whether the log does not go on from what is there, so that a checkpoint must come first.
    pub needs_checkpoint: bool,
}

/// Where shipping goes on.
struct At {
    segment: SegmentHeader,
    from: Box<dyn DiskFile>,
    to: fs::File,
    length: u64,
    offset: u64,
    next_lsn: Lsn,
    checksum: u32,
}

/// The way from the one log to the other.
pub(super) struct Shipping {
    from: ReadOnlyDisk,
    to: ReadOnlyDisk,
    /// The directory that follows.
    place: PathBuf,
    directory_id: [u8; 16],
    at: Option<At>,
    /// The last transaction that is known to be synced.
    synced: Lsn,
}

impl Shipping {
    pub(super) fn new(data: &Path, place: &Path, directory_id: [u8; 16]) -> io::Result<Shipping> {
        let (from, to) = (data.join(log::DIRECTORY), place.join(log::DIRECTORY));
        fs::metadata(&from)?;
        let disk = |directory: PathBuf| ReadOnlyDisk { directory };
        Ok(Shipping { from: disk(from), to: disk(to), place: place.into(), directory_id, at: None, synced: 0 })
    }

    /// Ships a piece of what is known to be synced and is not there yet.
    pub(super) fn ship(&mut self) -> Result<Shipped, CopyError> {
        let told = self.watermark()?;
        self.synced = self.synced.max(told);
        // After a failure it is found out by looking what of it was written.
        let at = match self.at.take() {
            None => self.find()?,
            going => going,
        };
        let Some(mut at) = at else { return Ok(Shipped { needs_checkpoint: true, ..Shipped::default() }) };
        // What is there was synced: a log that says nothing was does not stand still, it cannot be read.
        if told == 0 && at.next_lsn > 1 {
            return Err(self.without_watermark());
        }
        let mut shipped = Shipped::default();
        loop {
            let before = shipped.bytes;
            let is_more = at.copy_frames(self.synced, &mut shipped).map_err(CopyError::Source)?;
            if shipped.bytes > before {
                at.to.sync_data().map_err(io_error("syncing the log of", &self.place))?;
            }
            if is_more {
                break;
            }
            match self.successor(&at)? {
                Next::None if at.next_lsn > self.synced => {
                    shipped.is_caught_up = true;
                    break;
                }
                Next::Unread(end) if end - 1 > self.synced => self.synced = end - 1,
                Next::None | Next::Unread(_) => return Err(self.lost(&at)),
                Next::Gap => {
                    shipped.needs_checkpoint = true;
                    break;
                }
                Next::Segment(header) => at = self.begin(header)?,
            }
        }
        shipped.lsn = at.next_lsn - 1;
        if !shipped.needs_checkpoint {
            self.at = Some(at);
        }
        Ok(shipped)
    }

    /// What the appliance says is synced; 0: nothing can be read of that. It is written while it is read.
    fn watermark(&self) -> Result<Lsn, CopyError> {
        const READS: usize = 3;
        for _ in 0..READS {
            let told = recovery::read_watermark(&self.from, self.directory_id).map_err(CopyError::Source)?;
            if told > 0 {
                return Ok(told);
            }
        }
        Ok(0)
    }

    /// The file that says what is synced is gone, or says nothing: nobody knows how far the appliance is by now.
    fn without_watermark(&self) -> CopyError {
        let file = self.from.directory.join(log::WATERMARK_FILE);
        io_error("reading", &file)(io::ErrorKind::NotFound.into())
    }

    /// A segment's frames end before what is known to be synced.
    fn lost(&self, at: &At) -> CopyError {
        let file = self.from.directory.join(segment_name(at.segment.number));
        CopyError::Damaged { file, reason: format!("transaction {} was synced and cannot be read", at.next_lsn) }
    }
}

impl At {
    /// Copies frames up to a transaction; whether there are more than fit into one piece.
    fn copy_frames(&mut self, synced: Lsn, shipped: &mut Shipped) -> Result<bool, OpenError> {
        let (begin, mut piece) = (self.offset, Vec::new());
        let name = segment_name(self.segment.number);
        let mut is_more = false;
        while self.next_lsn <= synced {
            let Some((header, frame)) = recovery::read_frame(self.from.as_ref(), &name, self.offset, self.length)?
            else {
                break;
            };
            if !self.continues(&header) || header.last_lsn() > synced {
                break;
            }
            piece.extend_from_slice(&frame);
            piece.resize(piece.len().next_multiple_of(format::BLOCK_BYTES), 0);
            self.pass(&header);
            shipped.time = header.time;
            if piece.len() >= PIECE_BYTES {
                is_more = true;
                break;
            }
        }
        if piece.is_empty() {
            return Ok(false);
        }
        shipped.bytes += piece.len() as u64;
        let written = self.to.write_all_at(&piece, begin);
        written.map_err(|e| OpenError::io(format!("writing {name}"), e))?;
        Ok(is_more)
    }

    fn continues(&self, header: &FrameHeader) -> bool {
        (header.first_lsn, header.previous_checksum) == (self.next_lsn, self.checksum)
    }

    fn pass(&mut self, header: &FrameHeader) {
        self.offset += header.stride();
        self.next_lsn = header.last_lsn() + 1;
        self.checksum = header.checksum;
    }
}

/// What comes behind a segment.
enum Next {
    /// Nothing yet.
    None,
    /// A segment whose transactions go on.
    Segment(SegmentHeader),
    /// A segment that begins with this transaction: those before it stand in this one.
    Unread(Lsn),
    /// Segments that are gone.
    Gap,
}

impl Shipping {
    /// What follows the frames that were read.
    fn successor(&self, at: &At) -> Result<Next, CopyError> {
        let number = at.segment.number + 1;
        let Some(header) = self.header(&self.from, number)? else {
            let names = self.from.list().map_err(io_error("listing", &self.from.directory))?;
            let is_later = |name: &String| log::segment_number(name).is_some_and(|found| found > number);
            return Ok(if names.iter().any(is_later) { Next::Gap } else { Next::None });
        };
        if header.first_lsn > at.next_lsn {
            return Ok(Next::Unread(header.first_lsn));
        }
        // A start may have carried the last frames over into the new segment, with other checksums.
        let checksum = if header.first_lsn == at.next_lsn {
            Some(at.checksum)
        } else {
            let read = walk(&self.from, at.segment, Some(header.first_lsn))?;
            Some(read.checksum).filter(|_| read.next_lsn == header.first_lsn)
        };
        if checksum == Some(header.previous_checksum) {
            Ok(Next::Segment(header))
        } else {
            Err(CopyError::Diverged(self.place.clone()))
        }
    }

    /// The header of a segment; `None` if there is no such.
    fn header(&self, disk: &ReadOnlyDisk, number: u64) -> Result<Option<SegmentHeader>, CopyError> {
        let name = segment_name(number);
        let place = disk.directory.join(&name);
        let file = match disk.open(&name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(io_error("opening", &place))?,
        };
        let mut block = [0; SEGMENT_HEADER_BYTES];
        file.read_at(0, &mut block).map_err(io_error("reading", &place))?;
        let header = format::decode_segment_header(&block);
        match header.filter(|header| header.number == number && header.directory_id == self.directory_id) {
            Some(header) => Ok(Some(header)),
            None => Err(CopyError::Damaged { file: place, reason: "the segment's header is not sound".to_owned() }),
        }
    }

    /// Where shipping goes on: behind what is there, or with the segment that goes on from the newest checkpoint there.
    /// `None`: a checkpoint must come first.
    fn find(&self) -> Result<Option<At>, CopyError> {
        let (_, there) = recovery::find_copied_segments(&self.to, self.directory_id).map_err(CopyError::Source)?;
        let Some(last) = there.last() else { return self.after_gap(0) };
        match self.header(&self.from, last.header.number)? {
            Some(header) if header == last.header => return self.resume(header).map(Some),
            Some(_) => return Err(CopyError::Diverged(self.place.clone())),
            None => {}
        }
        // The appliance has let it go. It may be whole, and the next one still there.
        if let Some(next) = self.header(&self.from, last.header.number + 1)? {
            let own = walk(&self.to, last.header, Some(next.first_lsn))?;
            if (own.next_lsn, own.checksum) == (next.first_lsn, next.previous_checksum) {
                return self.begin(next).map(Some);
            }
        }
        self.after_gap(last.header.number)
    }

    /// Goes on behind the frames of a segment that are there.
    fn resume(&self, header: SegmentHeader) -> Result<At, CopyError> {
        let there = walk(&self.to, header, None)?;
        // A start of the appliance may have cut off the end of its segment and written it into the next one.
        let end = self.header(&self.from, header.number + 1)?.map(|next| next.first_lsn);
        let until = end.map_or(there.next_lsn, |end| end.min(there.next_lsn));
        let (own, theirs) = (walk(&self.to, header, Some(until))?, walk(&self.from, header, Some(until))?);
        if (own.next_lsn, own.checksum) != (theirs.next_lsn, theirs.checksum) {
            return Err(CopyError::Diverged(self.place.clone()));
        }
        let (from, to) = self.files(header.number)?;
        // Whatever stands behind was never finished.
        let cut = to.set_len(there.offset).and_then(|()| to.set_len(header.file_bytes)).and_then(|()| to.sync_all());
        cut.map_err(io_error("cutting the log of", &self.to.directory))?;
        let length = header.file_bytes;
        Ok(At {
            segment: header,
            from,
            to,
            length,
            offset: there.offset,
            next_lsn: there.next_lsn,
            checksum: there.checksum,
        })
    }

    /// Begins anew with the segment that holds what follows the newest checkpoint there, if that is behind `number`.
    fn after_gap(&self, number: u64) -> Result<Option<At>, CopyError> {
        let listed = checkpoint::list(&self.place).map_err(io_error("listing the checkpoints of", &self.place))?;
        let (_, segments) = recovery::find_copied_segments(&self.from, self.directory_id).map_err(CopyError::Source)?;
        // There is more of it than the data directory ever had.
        if segments.last().is_none_or(|newest| newest.header.number < number) {
            return Err(CopyError::Diverged(self.place.clone()));
        }
        let Some((lsn, _)) = listed.first() else { return Ok(None) };
        let holds = |segment: &&FoundSegment| {
            segment.header.first_lsn <= lsn + 1 && segment.end_lsn.is_none_or(|end| end > lsn + 1)
        };
        match segments.iter().rev().find(holds).filter(|segment| segment.header.number > number) {
            Some(segment) => self.begin(segment.header).map(Some),
            None => Ok(None),
        }
    }

    /// Makes a segment with a header and nothing else.
    fn begin(&self, header: SegmentHeader) -> Result<At, CopyError> {
        let failed = io_error("writing the log of", &self.place);
        let making = self.to.directory.join(MAKING);
        match fs::remove_file(&making) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&making).map_err(&failed)?;
        let written = file
            .set_len(header.file_bytes)
            .and_then(|()| file.write_all_at(&format::encode_segment_header(&header), 0))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&making, self.to.directory.join(segment_name(header.number))))
            .and_then(|()| sync_directory(&self.to.directory));
        written.map_err(failed)?;
        let (from, to) = self.files(header.number)?;
        Ok(At {
            segment: header,
            from,
            to,
            length: header.file_bytes,
            offset: SEGMENT_HEADER_BYTES as u64,
            next_lsn: header.first_lsn,
            checksum: header.previous_checksum,
        })
    }

    fn files(&self, number: u64) -> Result<(Box<dyn DiskFile>, fs::File), CopyError> {
        let name = segment_name(number);
        let from = self.from.open(&name).map_err(io_error("opening", &self.from.directory.join(&name)))?;
        let path = self.to.directory.join(&name);
        let to = OpenOptions::new().write(true).open(&path).map_err(io_error("opening", &path))?;
        Ok((from, to))
    }
}

/// Follows a segment's frames up to its end.
fn walk(disk: &ReadOnlyDisk, header: SegmentHeader, end_lsn: Option<Lsn>) -> Result<Walked, CopyError> {
    walk_in(disk, &FoundSegment { header, end_lsn }, |_| true).map_err(CopyError::Source)
}
