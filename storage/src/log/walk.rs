//! Following the frames of one segment, as far as each goes on from the one before it.

use super::format::{FrameHeader, SEGMENT_HEADER_BYTES};
use super::recovery;
use super::segment::{FoundSegment, segment_name};
use crate::env::{Disk, DiskFile};
use crate::error::OpenError;
use crate::time::{Lsn, Timestamp};

/// How far the frames of a segment go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Where the next frame would begin.
    pub(crate) offset: u64,
    /// The checksum of the last one, or of the one before the segment.
    pub(crate) checksum: u32,
    /// The transaction behind the last one.
    pub(crate) next_lsn: Lsn,
    /// The writer's time at the last one, if there is any.
    pub(crate) time: Option<Timestamp>,
    /// How many there are.
    pub(crate) frames: u64,
}

/// Follows the frames of a segment up to its end, as long as `look` says so.
pub(crate) fn walk_while(
    file: &dyn DiskFile,
    segment: &FoundSegment,
    mut look: impl FnMut(&FrameHeader) -> bool,
) -> Result<Walked, OpenError> {
    let name = segment_name(segment.header.number);
    let length = file.len().map_err(|e| OpenError::io(format!("reading {name}"), e))?;
    let mut walked = Walked {
        offset: SEGMENT_HEADER_BYTES as u64,
        checksum: segment.header.previous_checksum,
        next_lsn: segment.header.first_lsn,
        time: None,
        frames: 0,
    };
    while segment.end_lsn.is_none_or(|end| walked.next_lsn < end) {
        let Some((header, _)) = recovery::read_frame(file, &name, walked.offset, length)? else { break };
        let continues = (header.first_lsn, header.previous_checksum) == (walked.next_lsn, walked.checksum);
        if !continues || !look(&header) {
            break;
        }
        walked = Walked {
            offset: walked.offset + header.stride(),
            checksum: header.checksum,
            next_lsn: header.last_lsn() + 1,
            time: Some(header.time),
            frames: walked.frames + 1,
        };
    }
    Ok(walked)
}

/// As [`walk_while`], of the file that has the segment's name.
pub(crate) fn walk_in(
    disk: &dyn Disk,
    segment: &FoundSegment,
    look: impl FnMut(&FrameHeader) -> bool,
) -> Result<Walked, OpenError> {
    let name = segment_name(segment.header.number);
    let file = disk.open(&name).map_err(|e| OpenError::io(format!("opening {name}"), e))?;
    walk_while(file.as_ref(), segment, look)
}
