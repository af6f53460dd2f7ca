//! The log: the authority over everything that was acknowledged.
//!
//! Reading order: `format` (bytes), `segment` (files), `writer` (append and sync), `recovery` (what a start believes),
//! `walk` (one segment's frames), `scan` (reading all of it, for `verify`). The rules and their reasons are in DESIGN.md.

pub(crate) mod format;
pub(crate) mod recovery;
pub(crate) mod scan;
mod segment;
pub(crate) mod walk;
pub(crate) mod writer;

pub(crate) use segment::{
    ClosedSegment, DIRECTORY, FoundSegment, LogPosition, SEGMENT_BYTES, Trust, WATERMARK_FILE, segment_name,
    segment_number,
};
