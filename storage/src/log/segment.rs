//! Segments: their files and names, and what is known of one. The words that writing and reading the log share.

use super::format::SegmentHeader;
use crate::time::Lsn;

/// The segments' directory inside the data directory.
pub(crate) const DIRECTORY: &str = "wal";
/// The file that remembers the last synced transaction (a hint that is never waited for).
pub(crate) const WATERMARK_FILE: &str = "WATERMARK";
/// A segment in the making; renamed once it is zero-filled, headed and synced.
pub(crate) const MAKING_FILE: &str = "segment.tmp";
/// A zero-filled file for the next segment, laid ready by the background.
pub(crate) const SPARE_FILE: &str = "spare.tmp";
/// The spare file while it is being filled.
pub(crate) const FILLING_FILE: &str = "filling.tmp";

/// The size of a segment unless something else is asked for, in bytes.
pub(crate) const SEGMENT_BYTES: u64 = 32 << 20;

/// The file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:016x}.log")
}

/// The number in a segment's file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// Where the log's files come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The directory wrote them itself.
    Original,
    /// They were copied, perhaps while they were written.
    Copy,
}

/// A segment as found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSegment {
    pub(crate) header: SegmentHeader,
    /// The first transaction of the segment after it, if there is one.
    pub(crate) end_lsn: Option<Lsn>,
}

/// A segment that is complete and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClosedSegment {
    pub(crate) number: u64,
    /// The first transaction behind it.
    pub(crate) next_lsn: Lsn,
}

/// What the next frame continues from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// The number of the newest segment on disk, 0 if there is none.
    pub(crate) segment: u64,
    /// The last transaction in the log.
    pub(crate) last_lsn: Lsn,
    /// The checksum of the last frame.
    pub(crate) checksum: u32,
}
