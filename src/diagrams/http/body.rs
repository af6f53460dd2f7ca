//! Reading what requests bring: one text, and of large bodies only so many at a time.

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use quintet_platform::http::body;
use quintet_platform::json::Fields;
use quintet_platform::service::{Dialect as _, Fault};
use tokio::sync::SemaphorePermit;

use super::dialect::{Call, Diagrams};
use crate::context::Context;
use crate::refusal::Refusal;

/// A body up to this size is read without further ado; of larger ones, only so many are held at once.
const SMALL_BODY_BYTES: u64 = 64 << 10;
/// How much larger than a text its JSON or its form may be, where each character is escaped.
const ESCAPED_FACTOR: usize = 3;
/// What stands around a text in a body.
const AROUND_BYTES: usize = 4 << 10;

/// The one text of a JSON body.
pub(super) async fn one_field(call: Call, name: &str, bytes_max: usize) -> Result<String, Refusal> {
    let context = call.context.clone();
    let _place = place(&context, call.headers())?;
    let mut change = call.change_of(around(bytes_max)).await?;
    let said = change.optional_json()?;
    let said = said.ok_or_else(|| Refusal::invalid(format!("a JSON object with the field {name} is required")))?;
    let mut fields = Fields::new(said).map_err(|error| Refusal::invalid(error.to_string()))?;
    let text: String = fields.required(name).map_err(|error| Fault::Shape(vec![(&error).into()]))?;
    fields.finish().map_err(|unknown| Fault::Shape(unknown.iter().map(Into::into).collect()))?;
    check_size(name, &text, bytes_max)?;
    Ok(text)
}

/// A body that holds a text of `bytes_max` at most, and the place it takes among the large ones.
pub(super) async fn read<'a>(
    context: &'a Context,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<(Bytes, Option<SemaphorePermit<'a>>), Refusal> {
    let place = place(context, headers)?;
    let bytes = body::read(headers, body, around(bytes_max), Diagrams::DEMANDS.body_time).await;
    Ok((bytes.map_err(Fault::of_body)?, place))
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

/// A place among the large bodies, unless it is known to be small.
fn place<'a>(context: &'a Context, headers: &HeaderMap) -> Result<Option<SemaphorePermit<'a>>, Refusal> {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    match length {
        Some(length) if length <= SMALL_BODY_BYTES => Ok(None),
        _ => context.large_bodies.try_acquire().map(Some).map_err(|_| Fault::Busy.into()),
    }
}
