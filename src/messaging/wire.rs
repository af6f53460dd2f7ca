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
