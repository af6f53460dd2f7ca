//! Reading what requests bring: one text.

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use quintet_platform::json::{self, Fields, JsonError};
use quintet_platform::service::{Dialect as _, Fault};

use super::dialect::{Call, Diagrams};
use super::intake::{SMALL_BODY_BYTES, source_of, take_in};
use crate::context::Context;
use crate::places::Place;
use crate::queue::{Asker, Source};
use crate::refusal::Refusal;

/// How much larger than a text its JSON or its form may be, where each character is escaped.
const ESCAPED_FACTOR: usize = 3;
/// What stands around a text in a body.
const AROUND_BYTES: usize = 4 << 10;

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
    take_in(context, parts, body, around(bytes_max), Diagrams::DEMANDS.body_time).await
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
