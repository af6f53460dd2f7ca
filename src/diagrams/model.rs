//! The room's words: formats, drawings, and the engine that makes one of the other.

use std::fmt;
use std::sync::Arc;

use bincode::{Decode, Encode};

use crate::dot::ParseError;
use crate::limits::TooMuch;

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Format {
    /// Portable Network Graphics.
    Png,
    /// Scalable Vector Graphics.
    Svg,
}

impl Format {
    /// Both, the one that is made when nobody says which first.
    pub const ALL: [Format; 2] = [Format::Png, Format::Svg];

    /// Its name in requests, which is the extension of its files as well.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
        }
    }

    /// The media type of its files.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Svg => "image/svg+xml",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What could not be honoured, in the order it was found.
    pub warnings: Vec<String>,
    /// Whether it was simplified to stay within its bounds.
    pub is_degraded: bool,
}

/// Why a source gives no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawingError {
    /// What is wrong, as a sentence.
    pub message: String,
    /// The line it is on, from 1, if it has a place.
    pub line: Option<u32>,
    /// The column on that line, in characters from 1.
    pub column: Option<u32>,
    /// Whether the source is too large as such, whatever it says.
    pub is_source_too_large: bool,
}

impl DrawingError {
    /// What is wrong with a source that has no place in it.
    #[must_use]
    pub fn without_place(message: impl Into<String>) -> DrawingError {
        DrawingError { message: message.into(), line: None, column: None, is_source_too_large: false }
    }
}

/// Draws a source; called on a thread of the pool.
pub type Draw = Arc<dyn Fn(&[u8], Format) -> Result<Drawing, DrawingError> + Send + Sync>;

/// What draws, and the name that tells its pictures from those of another one.
#[derive(Clone)]
pub struct Engine {
    /// Changes whenever the same source may give another picture; a part of every content hash.
    pub identity: String,
    /// Draws.
    pub draw: Draw,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl From<ParseError> for DrawingError {
    fn from(error: ParseError) -> DrawingError {
        DrawingError {
            // A second line shows how a string that does not end begins; the place says that as well.
            message: error.to_string().lines().next().unwrap_or_default().to_owned(),
            line: error.line(),
            column: error.column(),
            is_source_too_large: matches!(error, ParseError::TooMuch(TooMuch::SourceBytes(_))),
        }
    }
}
