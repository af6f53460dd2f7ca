//! The log: the authority over everything that was acknowledged.
//!
//! Reading order: `format` (bytes), `writer` (append and sync), `recovery` (what a start believes).
//! The rules and their reasons are in DESIGN.md.

pub(crate) mod format;
pub(crate) mod recovery;
pub(crate) mod scan;
pub(crate) mod writer;

/// A transaction's number in the log, counted from 1; 0 stands for "none yet".
pub type Lsn = u64;

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

/// The file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:016x}.log")
}

/// The number in a segment's file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}
