//! Why a document is not read on.

use std::io;

use crate::formats::refusal::ReaderRefusal;

/// Why a document is not read on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is refused.
    #[error(transparent)]
    Refused(#[from] ReaderRefusal),
    /// Its bytes could not be had.
    #[error("the document could not be read: {0}")]
    Failed(io::Error),
}
