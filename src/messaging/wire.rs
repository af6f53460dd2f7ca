//! What all folders write alike.

use quintet_platform::clock::rfc3339;
use quintet_platform::json::Json;
use quintet_storage::Timestamp;

/// An instant, in UTC.
pub(crate) fn instant(at: Timestamp) -> Json {
    Json::from(rfc3339(at))
}

/// An instant, or null.
pub(crate) fn instant_or_null(at: Option<Timestamp>) -> Json {
    at.map_or(Json::Null, instant)
}

/// Texts, in their order.
pub(crate) fn texts<T: AsRef<str>>(all: impl IntoIterator<Item = T>) -> Json {
    Json::Array(all.into_iter().map(|text| Json::from(text.as_ref())).collect())
}

/// What is written for as much as one likes: the greatest integer that every reader of JSON takes for what it is
/// (RFC 8259, 6).
const UNLIMITED: u64 = (1 << 53) - 1;

/// A limit, or what is left of one.
pub(crate) fn limit(limit: u64) -> Json {
    Json::from(limit.min(UNLIMITED))
}
