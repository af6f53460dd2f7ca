//! Pages of a list: how many at most, and behind which place.

use quintet_storage::bincode::{Decode, Encode};
use quintet_storage::{Failure, decode_plain, encode_plain};

use super::call::Visit;
use super::dialect::Dialect;
use super::fault::Fault;
use super::route::Parameter;
use super::shape::Shape;
use crate::cursor;

/// `cursor`
pub const CURSOR: Parameter =
    Parameter::new("cursor", Shape::Cursor, "The next_cursor of the page before, with the same filters.");

/// `limit`, with the usual and the greatest number of items.
#[must_use]
pub const fn limit(usual: i64, greatest: i64) -> Parameter {
    let shape = Shape::Integer { min: 1, max: greatest, default: Some(usual) };
    Parameter::new("limit", shape, "The most items of a page. A page can have fewer and still not be the last.")
}

/// Which page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<P> {
    /// The page begins behind this place; `None`: with the first.
    pub after: Option<P>,
    /// The most items.
    pub limit: usize,
}

impl<D: Dialect> Visit<D> {
    /// Which page is asked for. `kind` names the list and whatever filters a page must not be continued under other ones.
    ///
    /// # Errors
    /// A limit out of range, or a cursor of another list.
    pub fn page<P: Decode<()>>(&mut self, kind: &str, limit: &Parameter) -> Result<Page<P>, D::Refusal> {
        let limit = self.integer(limit)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1);
        Ok(Page { after: self.cursor(kind)?, limit })
    }

    /// Behind which place a page begins.
    ///
    /// # Errors
    /// A cursor of another list.
    pub fn cursor<P: Decode<()>>(&mut self, kind: &str) -> Result<Option<P>, D::Refusal> {
        let Some(text) = self.take(&CURSOR) else { return Ok(None) };
        let place = cursor::decode(kind, &text).ok().and_then(|bytes| decode_plain(&bytes).ok());
        place.map(Some).ok_or_else(|| Fault::parameter(CURSOR.name, CURSOR.shape.expected()).into())
    }
}

/// The cursor of the page behind a place, if there is one.
///
/// # Errors
/// The place cannot be encoded.
pub fn next_cursor<P: Encode>(kind: &str, last: Option<&P>) -> Result<Option<String>, Failure> {
    last.map(|last| Ok(cursor::encode(kind, &encode_plain(last)?))).transpose()
}
