//! Pages of lists: where one begins, how long it is, and where the next one does.

use quintet_platform::cursor;
use quintet_storage::{Uuid, decode_plain, encode_plain};

use super::request::{Asked, failed, parameter_refusal};
use crate::refusal::Refusal;

/// The largest and the usual page.
const PAGE_MAX: i64 = 500;
const PAGE_DEFAULT: i64 = 50;

/// Behind which id a page begins and how long it is, with nothing left of the query. `kind` tells lists apart: a cursor
/// is good for its own alone.
pub(super) fn page(asked: &mut Asked, kind: &str) -> Result<(Option<Uuid>, usize), Refusal> {
    let limit = asked.query.integer("limit", 1..=PAGE_MAX).map_err(|error| parameter_refusal(&error))?;
    let limit = usize::try_from(limit.unwrap_or(PAGE_DEFAULT)).unwrap_or(1);
    let after = match asked.query.take("cursor") {
        None => None,
        Some(text) => {
            let position = cursor::decode(kind, &text).ok().and_then(|bytes| decode_plain::<[u8; 16]>(&bytes).ok());
            let position = position.ok_or_else(|| Refusal::parameter("cursor", "is not a cursor of this list"))?;
            Some(Uuid::from_bytes(position))
        }
    };
    asked.end_query()?;
    Ok((after, limit))
}

/// The cursor of the page behind an id.
pub(super) fn next_cursor(kind: &str, last: Option<Uuid>) -> Result<Option<String>, Refusal> {
    let Some(last) = last else { return Ok(None) };
    let bytes = encode_plain(&last.into_bytes()).map_err(|failure| failed(&failure))?;
    Ok(Some(cursor::encode(kind, &bytes)))
}
