//! What can go wrong, in two kinds that never mix: a verb's refusal and the store's failure.

use std::fmt;
use std::path::PathBuf;

use crate::time::Lsn;

/// The store could not do its part. It says nothing about the request's merits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The deadline passed, or the queue was full, before the writer got to the request; nothing was done.
    Busy,
    /// Free space is below the reserve; nothing was done.
    StorageFull,
    /// Writing has stopped for good after an earlier failure; nothing was done. A restart clears it.
    Stopped,
    /// The transaction may or may not survive: its batch, or one that it had seen, could not be made durable.
    OutcomeUnknown,
    /// Bytes read back are not what was written. Says where.
    Damaged(String),
    /// One transaction's writes exceed what the log takes at once; nothing was done.
    TooLarge,
    /// The verb panicked; nothing was done.
    Panicked,
    /// The operating system or RocksDB refused a read.
    Io(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Busy => f.write_str("the writer was busy past the deadline"),
            Failure::StorageFull => f.write_str("free disk space is below the reserve"),
            Failure::Stopped => f.write_str("writing has stopped after a failure; restart to clear it"),
            Failure::OutcomeUnknown => f.write_str("the outcome could not be made durable and is unknown"),
            Failure::Damaged(place) => write!(f, "damaged data: {place}"),
            Failure::TooLarge => f.write_str("the transaction is larger than the log takes at once"),
            Failure::Panicked => f.write_str("the transaction's code panicked"),
            Failure::Io(reason) => write!(f, "input or output failed: {reason}"),
        }
    }
}

impl std::error::Error for Failure {}

/// Marks a room's refusal type, so that `?` carries it out of a verb.
pub trait Refusal {}

/// How a verb ends when it does not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abort<R> {
    /// The room's rules say no. Everything the verb wrote is dropped.
    Refused(R),
    /// The store failed.
    Failed(Failure),
}

impl<R> From<Failure> for Abort<R> {
    fn from(failure: Failure) -> Self {
        Abort::Failed(failure)
    }
}

impl<R: Refusal> From<R> for Abort<R> {
    fn from(refusal: R) -> Self {
        Abort::Refused(refusal)
    }
}

/// Why a data directory could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process holds the directory's lock.
    InUse(PathBuf),
    /// Bytes that had been made durable are missing or wrong.
    Damaged {
        /// The file that holds them.
        file: PathBuf,
        /// Where in the file, in bytes.
        offset: u64,
        /// What was found.
        reason: String,
    },
    /// The directory was made under the other kind of clock; neither opens in the other's mode.
    ClockMismatch {
        /// Whether the directory is a rehearsal directory.
        directory_is_rehearsal: bool,
    },
    /// The directory was written by a newer format than this binary knows.
    NewerFormat {
        /// The directory's format version.
        found: u32,
        /// The newest version this binary knows.
        known: u32,
    },
    /// The directory was written by a format so old that this binary has no way to migrate it.
    OlderFormat {
        /// The directory's format version.
        found: u32,
        /// The oldest version this binary migrates.
        oldest: u32,
    },
    /// The directory holds files but no FORMAT: not a data directory.
    NotADataDirectory(PathBuf),
    /// What the packages declare does not fit together: two tables share a tag or a name, or the migrations do not lead
    /// to the present format.
    Registry(String),
    /// The log starts after what the projection holds; there is a gap nothing can fill.
    LogGap {
        /// The last transaction the projection holds.
        projection: Lsn,
        /// The first transaction the log holds.
        log: Lsn,
    },
    /// The operating system or RocksDB refused.
    Io {
        /// What was tried.
        doing: String,
        /// What came back.
        reason: String,
    },
}

impl OpenError {
    /// An [`OpenError::Io`] from anything that says why.
    pub(crate) fn io(doing: impl Into<String>, reason: impl fmt::Display) -> Self {
        OpenError::Io { doing: doing.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::InUse(path) => write!(f, "{} is in use by another process", path.display()),
            OpenError::Damaged { file, offset, reason } => {
                write!(f, "damage in {} at byte {offset}: {reason}", file.display())
            }
            OpenError::ClockMismatch { directory_is_rehearsal: true } => {
                f.write_str("this is a rehearsal directory; start it with --rehearsal-clock")
            }
            OpenError::ClockMismatch { directory_is_rehearsal: false } => {
                f.write_str("this directory keeps real time; start it without --rehearsal-clock")
            }
            OpenError::NewerFormat { found, known } => {
                write!(f, "the directory has format {found}, this binary knows formats up to {known}")
            }
            OpenError::OlderFormat { found, oldest } => {
                write!(f, "the directory has format {found}, this binary migrates formats from {oldest} on")
            }
            OpenError::NotADataDirectory(path) => {
                write!(f, "{} is not empty and not a data directory (it has no FORMAT file)", path.display())
            }
            OpenError::Registry(reason) => write!(f, "a mistake in this binary: {reason}"),
            OpenError::LogGap { projection, log } => {
                write!(f, "the log starts at {log}, the tables end at {projection}: what lies between is missing")
            }
            OpenError::Io { doing, reason } => write!(f, "{doing}: {reason}"),
        }
    }
}

impl std::error::Error for OpenError {}
