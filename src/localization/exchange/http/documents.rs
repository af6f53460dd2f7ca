//! What the ways in and out share: media types, parts under one Idempotency-Key, documents that are sent as they are made.

use std::io;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use quintet_platform::service::{Answer, Change, Parameter, Shape, Stop, refusal_of, written};
use quintet_storage::{Abort, Failure, Snapshot};

use crate::content::ValueReader;
use crate::context::Context;
use crate::formats::{READING_SECONDS_MAX, ReadError};
use crate::http::Localization;
use crate::model::TenantId;
use crate::refusal::Refusal;

/// The locale that a document is for.
pub const LOCALE_CHARS_MAX: usize = 255;

/// The media types of documents, one of them their own (localization, X1).
pub const fn media_types(own: &'static str) -> [&'static str; 4] {
    [own, "application/xml", "text/xml", "application/octet-stream"]
}

/// The parameter that names a locale.
pub const fn locale_parameter(about: &'static str) -> Parameter {
    Parameter::new("locale", Shape::Text { min: 1, max: LOCALE_CHARS_MAX }, about)
}

/// Until when a document that begins to be read now must have been read.
pub fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(READING_SECONDS_MAX)
}

/// What cannot be read, in this room's words; a stored value that could not be read is the store's failure.
pub fn unread(error: ReadError, failure: Option<Failure>) -> Abort<Refusal> {
    match (error, failure) {
        (_, Some(failure)) => Abort::Failed(failure),
        (ReadError::Refused(refusal), None) => {
            let (code, line, column) = (refusal.code.as_str(), refusal.line, refusal.column);
            Abort::Refused(Refusal::Reader { code, line, column })
        }
        (ReadError::Failed(error), None) => Abort::Failed(Failure::Io(error.to_string())),
    }
}

/// Reads a document with a reader that borrows what it reads from; what went wrong with that is told.
pub fn reading<T>(
    mut source: ValueReader<'_>,
    read: impl FnOnce(&mut ValueReader<'_>) -> Result<T, Reading>,
) -> Result<T, Abort<Refusal>> {
    match read(&mut source) {
        Ok(read) => Ok(read),
        Err(Reading::Unread(error)) => Err(unread(error, source.failure.take())),
        Err(Reading::Aborted(abort)) => Err(abort),
    }
}

/// Why reading a document ended early.
pub enum Reading {
    /// The document could not be read.
    Unread(ReadError),
    /// Something else.
    Aborted(Abort<Refusal>),
}

impl Reading {
    /// It is refused for what it says.
    pub fn refused(refusal: Refusal) -> Reading {
        Reading::Aborted(Abort::Refused(refusal))
    }
}

impl From<ReadError> for Reading {
    fn from(error: ReadError) -> Reading {
        Reading::Unread(error)
    }
}

/// Whether a part of a document was written before: what was remembered of it. `number` is the part's, from 0.
///
/// # Errors
/// Why the request cannot go on.
pub fn begin_part(change: &mut Change<Localization>, number: usize) -> Result<Option<Answer>, Stop<Refusal>> {
    if number > 0 {
        change.go_on_with_part(number);
    }
    match change.begin() {
        Ok(()) => Ok(None),
        Err(Stop::Replay(answer)) => Ok(Some(*answer)),
        Err(stop) => Err(stop),
    }
}

/// What makes the next piece of a document; `None` at its end.
type NextPiece<M> = fn(&Context, &mut M, &Snapshot) -> Result<Option<String>, Abort<Refusal>>;

/// A body that is made piece by piece, each piece when the one before it has been taken; the first is there already.
pub fn body_of<M: Send + 'static>(
    context: Context,
    tenant_id: TenantId,
    first: String,
    maker: M,
    next: NextPiece<M>,
) -> Body {
    let begun = (context, Some(first), maker);
    let pieces = stream::try_unfold(begun, move |(context, first, mut maker)| async move {
        if let Some(first) = first {
            return Ok::<_, io::Error>(Some((Bytes::from(first), (context, None, maker))));
        }
        let with = context.clone();
        let made = context.aside(tenant_id, move |read| {
            let piece = next(&with, &mut maker, read)?;
            Ok((piece, maker))
        });
        // The status is gone: all that can be done is to break off.
        let (piece, maker) = made.await.map_err(|abort| broken(&refusal_of(abort)))?;
        Ok(piece.map(|piece| (Bytes::from(piece), (context, None, maker))))
    });
    Body::from_stream(pieces)
}

/// A body of what is there already, written piece by piece as it is sent.
pub fn body_of_pieces<M: Send + 'static>(
    first: String,
    maker: M,
    next: fn(&mut M) -> Result<Option<String>, Failure>,
) -> Body {
    let pieces = stream::try_unfold((Some(first), maker), move |(first, mut maker)| async move {
        let piece = match first {
            Some(first) => Some(first),
            None => next(&mut maker).map_err(|failure| io::Error::other(failure.to_string()))?,
        };
        Ok::<_, io::Error>(piece.map(|piece| (Bytes::from(piece), (None, maker))))
    });
    Body::from_stream(pieces)
}

fn broken(refusal: &Refusal) -> io::Error {
    tracing::warn!(?refusal, "a document that was being sent breaks off");
    io::Error::other("the rest of the document could not be read")
}

/// How many of a document's units came to which end (localization, X6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Those that are stored now.
    pub written: usize,
    /// Those that were before.
    pub unchanged: usize,
    /// Those that cannot be.
    pub skipped: usize,
}

impl Counts {
    /// How those of a part are remembered.
    pub fn remembered(self) -> String {
        format!("{} {} {}", self.written, self.unchanged, self.skipped)
    }

    /// Adds those of a part, as they were remembered.
    pub fn add(&mut self, remembered: &[u8]) {
        let text = String::from_utf8_lossy(remembered);
        let mut numbers = text.split(' ').map(|number| number.parse().unwrap_or(0));
        for count in [&mut self.written, &mut self.unchanged, &mut self.skipped] {
            *count += numbers.next().unwrap_or(0);
        }
    }

    /// UnitsImported.
    ///
    /// # Errors
    /// None that can happen with these types.
    pub fn told(self) -> Result<Vec<u8>, Failure> {
        written(&self)
    }
}
