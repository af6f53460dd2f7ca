//! Reading what requests bring: one text, and of large bodies only so many at a time.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http_body_util::BodyExt as _;
use quintet_platform::json::{self, Fields, JsonError};
use quintet_platform::service::{Dialect as _, Fault};
use tokio::time::{Instant, timeout, timeout_at};

use super::dialect::{Call, Diagrams};
use crate::context::Context;
use crate::places::Place;
use crate::queue::{Asker, Source};
use crate::refusal::Refusal;

/// A body up to this size is read without further ado; of larger ones, only so many are held at once.
const SMALL_BODY_BYTES: usize = 64 << 10;
/// How much of a large one must arrive in [`PACE_TIME`], and then in the next: whoever holds a place makes use of it. The
/// time for the whole body asks no less of it.
const PACE_BYTES: usize = 64 << 10;
const PACE_TIME: Duration = Duration::from_secs(2);
/// How much larger than a text its JSON or its form may be, where each character is escaped.
const ESCAPED_FACTOR: usize = 3;
/// What stands around a text in a body.
const AROUND_BYTES: usize = 4 << 10;

/// The address that a request comes from, where that is known.
pub(super) fn source_of(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(source)| source.ip())
}

/// The one text of a JSON body.
pub(super) async fn one_field(mut call: Call, name: &'static str, bytes_max: usize) -> Result<String, Refusal> {
    let body = call.take_body();
    let context = &call.context;
    let (bytes, _place) = read(context, &call.parts, body, bytes_max).await?;
    let asker = Asker { source: source_of(&call.parts).map(Source::Address), bytes: bytes.len() };
    aside(context, asker, move || field_of(&bytes, name, bytes_max)).await?
}

fn field_of(bytes: &[u8], name: &str, bytes_max: usize) -> Result<String, Refusal> {
    let said = json::parse(bytes, Diagrams::DEMANDS.json).map_err(|error| match error {
        JsonError::Empty => Refusal::invalid(format!("a JSON object with the field {name} is required")),
        error => Fault::Json(error).into(),
    })?;
    let mut fields = Fields::new(said).map_err(|error| Refusal::invalid(error.to_string()))?;
    let text: String = fields.required(name).map_err(|error| Fault::Shape(vec![(&error).into()]))?;
    fields.finish().map_err(|unknown| Fault::Shape(unknown.iter().map(Into::into).collect()))?;
    check_size(name, &text, bytes_max)?;
    Ok(text)
}

/// Does something with so many bytes: at once if they are few, else in the lane of checks.
pub(super) async fn aside<T: Send + 'static>(
    context: &Context,
    asker: Asker,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    match asker.bytes > SMALL_BODY_BYTES {
        true => context.pool.check(asker, work).await.map_err(Refusal::of_pool),
        false => Ok(work()),
    }
}

/// A body that holds a text of `bytes_max` at most, and the place it takes among the large ones.
pub(super) async fn read<'a>(
    context: &'a Context,
    parts: &Parts,
    body: Body,
    bytes_max: usize,
) -> Result<(Bytes, Option<Place<'a>>), Refusal> {
    let bytes_max = around(bytes_max);
    if claimed_bytes(&parts.headers).is_some_and(|claimed| claimed > bytes_max as u64) {
        return Err(Fault::BodyTooLarge.into());
    }
    let arriving = arrive(context, source_of(parts), body, bytes_max);
    timeout(Diagrams::DEMANDS.body_time, arriving).await.map_err(|_| Fault::BodyTimedOut)?
}

/// Takes a body in. It gets a place once it has turned out to be large: one that was only announced takes none.
async fn arrive(
    context: &Context,
    source: Option<IpAddr>,
    mut body: Body,
    bytes_max: usize,
) -> Result<(Bytes, Option<Place<'_>>), Refusal> {
    let mut whole = BytesMut::new();
    let mut place = None;
    // How much must have arrived by when.
    let (mut due, mut due_at) = (usize::MAX, Instant::now());
    loop {
        let frame = match place {
            None => body.frame().await,
            Some(_) => timeout_at(due_at, body.frame()).await.map_err(|_| Fault::BodyTimedOut)?,
        };
        let Some(frame) = frame else { return Ok((whole.freeze(), place)) };
        let Ok(chunk) = frame.map_err(|_| Fault::BodyBroken)?.into_data() else { continue };
        if chunk.len() > bytes_max.saturating_sub(whole.len()) {
            return Err(Fault::BodyTooLarge.into());
        }
        whole.extend_from_slice(&chunk);
        let is_first = place.is_none() && whole.len() > SMALL_BODY_BYTES;
        if is_first {
            place = Some(context.large_bodies.enter(source).ok_or(Fault::Busy)?);
        }
        if is_first || whole.len() >= due {
            (due, due_at) = (whole.len() + PACE_BYTES, Instant::now() + PACE_TIME);
        }
    }
}

/// Refuses a text that is too long.
pub(super) fn check_size(name: &str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    match text.len() > bytes_max {
        true => Err(Refusal::TooLarge(format!("{name} is larger than {bytes_max} bytes"))),
        false => Ok(()),
    }
}

/// How large a body with a text may be.
fn around(bytes_max: usize) -> usize {
    bytes_max.saturating_mul(ESCAPED_FACTOR).saturating_add(AROUND_BYTES)
}

fn claimed_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}
