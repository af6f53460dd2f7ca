//! What the ways in and out share: media types, parts under one Idempotency-Key, documents that are sent as they are made.

use std::ops::Range;
use std::time::{Duration, Instant};

use http::HeaderValue;
use quintet_platform::service::{Answer, Change, Fault, Parameter, Shape, Stop, Turn, refusal_of, written};
use quintet_storage::large::StagedValue;
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use crate::access::Action;
use crate::audit::Actor;
use crate::content::http::arriving::receive;
use crate::content::{ValueReader, translation_locale};
use crate::formats::{READING_SECONDS_MAX, ReadError};
use crate::http::{Answered, Call, Localization, NextPiece, body_of};
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::Project;
use crate::spaces::http::permitted;

/// The locale that a document is for.
pub const LOCALE_CHARS_MAX: usize = 255;

/// The media types of documents, one of them their own (localization, X1).
pub const fn media_types(own: &'static str) -> [&'static str; 4] {
    [own, "application/xml", "text/xml", "application/octet-stream"]
}

/// Any document.
pub const ANY_XML: &str = r#"{"type":"string"}"#;

/// The bodies of requests with such documents.
pub const fn bodies(own: &'static str) -> [(&'static str, &'static str); 4] {
    [
        (own, ANY_XML),
        ("application/xml", ANY_XML),
        ("text/xml", ANY_XML),
        ("application/octet-stream", r#"{"type":"string","format":"binary"}"#),
    ]
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

/// A document about a project that has arrived.
pub struct Import {
    /// The request.
    pub change: Change<Localization>,
    /// What was remembered of its first part, if that was written before.
    pub before: Option<Answer>,
    /// Which project.
    pub project: Project,
    /// The document.
    pub document: StagedValue,
    /// The one locale that is wanted of it.
    pub only: Option<Locale>,
    /// What it takes in memory, at most.
    pub room: Turn,
}

/// Takes in a document about a project. Size, media type and replay come before what the path names, and are known only once
/// the body has arrived; see uploads.
///
/// # Errors
/// Why the request cannot go on.
pub async fn begin_import(
    mut call: Call,
    only: &Parameter,
    media_types: &[&str],
    bytes_max: fn(usize) -> usize,
) -> Result<Import, Stop<Refusal>> {
    let only = call.text(only)?;
    let key = call.idempotency_key()?;
    let body = call.take_body();
    let wanted = permitted(&call, Action::GlossaryWrite);
    let arrived = receive(&call, body, wanted.is_ok(), media_types).await?;
    let mut change = call.change_by(key, &arrived.sha256);
    let before = begin_part(&mut change, 0)?;
    // Again: a body may take minutes.
    let project = wanted.and_then(|_| permitted(&change.call, Action::GlossaryWrite))?;
    let document = arrived.staged.ok_or(Refusal::from(Fault::Internal))?;
    let only = only.as_deref().map(translation_locale).transpose()?;
    let room = room_for(&change.call, &document, bytes_max).await?;
    Ok(Import { change, before, project, document, only, room })
}

/// Waits until there is room in memory for a document; `bytes_max`: what one of so many bytes comes to, at most.
///
/// # Errors
/// [`Fault::Busy`]
pub async fn room_for(call: &Call, document: &StagedValue, bytes_max: fn(usize) -> usize) -> Result<Turn, Refusal> {
    let bytes = usize::try_from(document.value().size_bytes).unwrap_or(usize::MAX);
    call.context.room(call.caller.tenant_id(), bytes_max(bytes)).await
}

/// Writes the parts of a document, each in a transaction, but for those that were written before: what all came to, and
/// whether all were.
///
/// # Errors
/// Why the request cannot go on.
pub async fn write_parts(
    change: &mut Change<Localization>,
    mut before: Option<Answer>,
    parts: Vec<Range<usize>>,
    write: impl Fn(&mut WriteTx<'_>, Timestamp, &Actor, Range<usize>) -> Result<Counts, Abort<Refusal>>
    + Clone
    + Send
    + Sync
    + 'static,
) -> Result<(Counts, bool), Stop<Refusal>> {
    let (mut counts, mut is_replay) = (Counts::default(), true);
    for (number, part) in parts.into_iter().enumerate() {
        let known = if number == 0 { before.take() } else { begin_part(change, number)? };
        is_replay &= known.is_some();
        let answer = match known {
            Some(answer) => answer,
            None => {
                let (write, actor) = (write.clone(), change.call.caller.actor.clone());
                let wrote = change.try_write(move |tx, now| {
                    let counts = write(tx, now, &actor, part.clone())?;
                    Ok(Some(Answer::json(200, counts.remembered())))
                });
                wrote.await?.ok_or(Refusal::from(Fault::Internal))?
            }
        };
        counts.add(answer.body());
    }
    Ok((counts, is_replay))
}

/// Sends a document about a project, or what it says in one locale.
///
/// # Errors
/// Why the request cannot go on.
pub async fn export<M: Send + 'static>(
    mut call: Call,
    only: &Parameter,
    media_type: HeaderValue,
    begin: fn(TenantId, &Project, Option<&Locale>) -> M,
    next: NextPiece<M, String>,
) -> Answered {
    let only = call.text(only)?;
    let project = permitted(&call, Action::Read)?;
    let only = only.as_deref().map(translation_locale).transpose()?;
    let (tenant_id, context) = (call.caller.tenant_id(), call.context.clone());
    let with = context.clone();
    let begun = context.aside(tenant_id, move |read| {
        let mut maker = begin(tenant_id, &project, only.as_ref());
        let first = next(&with, &mut maker, read)?.unwrap_or_default();
        Ok((first, maker))
    });
    let (first, maker) = begun.await.map_err(refusal_of)?;
    Ok(Answer::stream(200, media_type, body_of(context, call.caller, first, maker, next)))
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

    /// UnitsImported, the answer to a document.
    ///
    /// # Errors
    /// None that can happen with these types.
    pub fn told(self, is_replay: bool) -> Answered {
        let told = written(&self).map_err(|failure| refusal_of(Abort::<Refusal>::Failed(failure)))?;
        let answer = Answer::json(200, told);
        Ok(if is_replay { answer.as_replay() } else { answer })
    }
}
