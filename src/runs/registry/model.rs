//! What a pull may take, how far it is, and why it comes to nothing.

use std::io;
use std::time::Duration;

use quintet_runtime::{Refusal, RunnerError};

/// What a pull may take.
#[derive(Clone, Debug)]
pub struct PullLimits {
    /// Bytes of one index, manifest or configuration.
    pub document_bytes: usize,
    /// Indexes within indexes.
    pub depth: u32,
    /// Layers of an image.
    pub layers: usize,
    /// Bytes of all layers of an image, as the registry keeps them.
    pub image_bytes: u64,
    /// Free space that is left on the disk they are put on, in bytes.
    pub disk_reserve_bytes: u64,
    /// The whole pull, without the unpacking.
    pub time: Duration,
    /// The wait for an answer to begin or to go on.
    pub idle: Duration,
    /// Attempts in a row that bring nothing new.
    pub attempts: u32,
    /// Attempts at one layer in all.
    pub attempts_in_all: u32,
}

impl Default for PullLimits {
    /// Ten minutes and 16 GiB: a run that waits for its image ends as `image_pull_failed` after that.
    fn default() -> PullLimits {
        PullLimits {
            document_bytes: 4 << 20,
            depth: 4,
            layers: 127,
            image_bytes: 16 << 30,
            disk_reserve_bytes: 512 << 20,
            time: Duration::from_secs(600),
            idle: Duration::from_secs(30),
            attempts: 4,
            attempts_in_all: 40,
        }
    }
}

/// Why an image was not pulled. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The registry has no such image.
    #[error("the registry has no such image")]
    NotFound,
    /// It does not show it to us.
    #[error("the registry denies it; runs.registries takes a name and a password for it")]
    Denied,
    /// It cannot be spoken to, or does not answer as registries do.
    #[error("the registry cannot be reached: {0}")]
    Unreachable(String),
    /// What it sent is not what it was asked for.
    #[error("the registry sent something else than it promised: {0}")]
    Lies(String),
    /// The image is damaged, too large, or not for this machine.
    #[error("the image cannot be used: {0}")]
    BadImage(String),
    /// Its layers take more than its caller gave, unpacked.
    #[error("the image takes more than {0} bytes unpacked")]
    TooLarge(u64),
    /// The disk has no room for it.
    #[error(
        "the disk has no room for the image: the reserve and a quarter of it stay free, and what containers may still write"
    )]
    NoRoom,
    /// All the time that a pull has is over.
    #[error("the pull took too long")]
    TooLong,
    /// It was called off.
    #[error("the pull was called off")]
    Cancelled,
    /// The runner failed.
    #[error(transparent)]
    Runner(RunnerError),
    /// This machine did: its disk, most likely.
    #[error("the image cannot be put down: {0}")]
    Local(io::Error),
}

impl From<io::Error> for PullError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull => PullError::NoRoom,
            _ => PullError::Local(error),
        }
    }
}

impl From<RunnerError> for PullError {
    fn from(error: RunnerError) -> Self {
        match error {
            RunnerError::Refused(Refusal::BadImage(reason)) => PullError::BadImage(reason),
            RunnerError::Refused(Refusal::ImageTooLarge { room_bytes }) => PullError::TooLarge(room_bytes),
            RunnerError::Refused(Refusal::NoRoomForImage { .. }) => PullError::NoRoom,
            other => PullError::Runner(other),
        }
    }
}

/// How far a pull is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The registry is asked for the image.
    Asking,
    /// Layers arrive: bytes of those that were missing.
    Fetching {
        /// Here.
        done_bytes: u64,
        /// In all.
        total_bytes: u64,
    },
    /// Everything is here; the runner unpacks it.
    Unpacking,
}
