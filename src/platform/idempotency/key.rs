//! The Idempotency-Key of a request.

use http::{HeaderMap, HeaderName};

/// `Idempotency-Key`
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request's `Idempotency-Key` cannot be used: several lines, not UTF-8, control characters, empty or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Idempotency-Key header is malformed, empty or too long")]
pub struct MalformedKey;

/// The `Idempotency-Key` of a request, if it has one: 1 to `max_chars` characters (the contracts say 200 or 255).
///
/// # Errors
/// [`MalformedKey`]
pub fn request_key(headers: &HeaderMap, max_chars: usize) -> Result<Option<String>, MalformedKey> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
    let line = match (lines.next(), lines.next()) {
        (None, _) => return Ok(None),
        (Some(only), None) => only,
        (Some(_), Some(_)) => return Err(MalformedKey),
    };
    let key = str::from_utf8(line.as_bytes()).map_err(|_| MalformedKey)?;
    let length_fits = (1..=max_chars).contains(&key.chars().count());
    if length_fits && !key.chars().any(char::is_control) { Ok(Some(key.to_owned())) } else { Err(MalformedKey) }
}
