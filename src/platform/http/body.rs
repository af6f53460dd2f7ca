//! Reading a request's body: never more of it than allowed, never longer than allowed.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;

use ::http::HeaderMap;
use ::http::header::{CONTENT_LENGTH, CONTENT_TYPE};

/// What is set aside for a body before its bytes arrive, whatever its length claims.
const FIRST_CAPACITY: usize = 16 * 1024;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It is, or claims to be, larger than allowed.
    #[error("the body is too large")]
    TooLarge,
    /// It did not arrive in time.
    #[error("the body did not arrive in time")]
    TimedOut,
    /// The connection broke or its framing is malformed.
    #[error("the body was cut short")]
    Broken,
}

/// Reads a whole body of at most `max_bytes` within `time`. A `Content-Length` above the limit is refused before a
/// byte is read; without one, reading stops at the limit.
///
/// # Errors
/// See [`BodyError`].
pub async fn read(headers: &HeaderMap, body: Body, max_bytes: usize, time: Duration) -> Result<Bytes, BodyError> {
    let claimed = claimed_len(headers);
    if claimed.is_some_and(|len| usize::try_from(len).map_or(true, |len| len > max_bytes)) {
        return Err(BodyError::TooLarge);
    }
    match tokio::time::timeout(time, collect(body, max_bytes)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(BodyError::TimedOut),
    }
}

/// What is read of a body that nobody needs, and for how long.
const SPARE_BYTES_MAX: usize = 1024;
const SPARE_TIME: Duration = Duration::from_secs(1);

/// Passes over a body that nobody needs, if it says that it is small: one that is left unread ends its connection. Many
/// clients send `{}` with every POST.
pub async fn pass_over(headers: &HeaderMap, body: Body) {
    if claimed_len(headers).is_some_and(|len| len > 0) {
        // A larger one is not read at all, and one that does not come ends the connection as well.
        let _ = read(headers, body, SPARE_BYTES_MAX, SPARE_TIME).await;
    }
}

async fn collect(mut body: Body, max_bytes: usize) -> Result<Bytes, BodyError> {
    let mut whole = BytesMut::new();
    let mut first: Option<Bytes> = None;
    while let Some(frame) = body.frame().await {
        let Ok(chunk) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        let so_far = whole.len() + first.as_ref().map_or(0, Bytes::len);
        if chunk.len() > max_bytes - so_far {
            return Err(BodyError::TooLarge);
        }
        // Most bodies are one chunk, which needs no copy.
        match first.take() {
            None if whole.is_empty() => first = Some(chunk),
            None => whole.extend_from_slice(&chunk),
            Some(earlier) => {
                whole.reserve((earlier.len() + chunk.len()).max(FIRST_CAPACITY.min(max_bytes)));
                whole.extend_from_slice(&earlier);
                whole.extend_from_slice(&chunk);
            }
        }
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}

/// The length the headers claim; the HTTP parser has already refused contradictory ones.
fn claimed_len(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// The media type a request names, without parameters, in lower case; `None` if it names none, several, or
/// something malformed.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let essence = value.to_str().ok()?.split(';').next()?.trim().to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    let token = |part: &str| !part.is_empty() && part.bytes().all(is_token_byte);
    if token(kind) && token(subtype) { Some(essence) } else { None }
}

/// Whether a request says that its body is JSON: `application/json` or a `+json` type.
#[must_use]
pub fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|essence| {
        essence == "application/json" || essence.starts_with("application/") && essence.ends_with("+json")
    })
}

/// RFC 9110, 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (::http::HeaderName::from_static(name), ::http::HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn chunks(chunks: &[&'static str]) -> Body {
        let chunks: Vec<Result<&'static str, std::io::Error>> = chunks.iter().map(|chunk| Ok(*chunk)).collect();
        Body::from_stream(stream::iter(chunks))
    }

    #[tokio::test]
    async fn reads_up_to_the_limit() {
        for (parts, max_bytes, expected) in [
            (vec![], 0, Ok("")),
            (vec!["12345"], 5, Ok("12345")),
            (vec!["12345"], 4, Err(BodyError::TooLarge)),
            (vec!["12", "34", "", "5"], 5, Ok("12345")),
            (vec!["12", "34", "5"], 4, Err(BodyError::TooLarge)),
            (vec!["", "12"], 4, Ok("12")),
            (vec!["1"], 0, Err(BodyError::TooLarge)),
        ] {
            let outcome = read(&HeaderMap::new(), chunks(&parts), max_bytes, SOON).await;
            assert_eq!(outcome, expected.map(Bytes::from), "{parts:?} {max_bytes}");
        }
    }

    #[tokio::test]
    async fn a_claim_above_the_limit_is_refused_unread() {
        for claim in ["5", "18446744073709551615"] {
            let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
            let outcome = read(&headers(&[("content-length", claim)]), never, 4, SOON).await;
            assert_eq!(outcome, Err(BodyError::TooLarge));
        }
        let outcome = read(&headers(&[("content-length", "4")]), chunks(&["1234"]), 4, SOON).await;
        assert_eq!(outcome, Ok(Bytes::from("1234")));
    }

    #[tokio::test]
    async fn a_slow_body_times_out() {
        let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let outcome = read(&HeaderMap::new(), never, 4, Duration::from_millis(10)).await;
        assert_eq!(outcome, Err(BodyError::TimedOut));
    }

    #[tokio::test]
    async fn a_broken_body_is_refused() {
        let broken = stream::iter([Ok("12"), Err(std::io::Error::other("gone"))]);
        let outcome = read(&HeaderMap::new(), Body::from_stream(broken), 9, SOON).await;
        assert_eq!(outcome, Err(BodyError::Broken));
    }

    #[test]
    fn media_types() {
        for (value, expected) in [
            ("application/json", Some("application/json")),
            ("Application/JSON; charset=utf-8", Some("application/json")),
            ("application/problem+json ;q", Some("application/problem+json")),
            ("application", None),
            ("/json", None),
            ("application/", None),
            ("application/js on", None),
            ("application/json/x", None),
            ("", None),
            ("\u{e9}", None),
        ] {
            assert_eq!(media_type(&headers(&[("content-type", value)])).as_deref(), expected, "{value}");
        }
        assert_eq!(media_type(&HeaderMap::new()), None);
        let mut two = headers(&[("content-type", "application/json")]);
        two.append(CONTENT_TYPE, "text/plain".parse().unwrap());
        assert_eq!(media_type(&two), None);
        assert!(is_json(&headers(&[("content-type", "application/merge-patch+json")])));
        assert!(!is_json(&headers(&[("content-type", "text/json")])));
    }
}
