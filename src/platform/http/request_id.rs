//! One identifier for each request: taken over from a well-formed `X-Request-Id` or made, put on every line that
//! is logged while the request is served, and sent back. The listener gives it, before anything can refuse.

use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use tracing::Span;

use crate::ids;

/// `X-Request-Id`
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest identifier that is taken over, in characters.
const LEN_MAX: usize = 128;

/// The identifier of the request being served; an extension of the request. Clones share its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Its text: 1 to 128 of letters, digits, `.`, `_`, `-`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    /// The one that a request brings, if it brings exactly one and it is well-formed; else a new one.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> RequestId {
        let mut values = headers.get_all(X_REQUEST_ID).iter();
        match (values.next(), values.next()) {
            (Some(only), None) if is_well_formed(only.as_bytes()) => RequestId(only.clone()),
            _ => RequestId::new(),
        }
    }

    fn new() -> RequestId {
        // Letters and digits are always fit for a header field.
        RequestId(HeaderValue::try_from(ids::request_id()).unwrap_or(HeaderValue::from_static("")))
    }

    /// What everything that is logged while the request is served stands under.
    #[must_use]
    pub fn span(&self, method: &Method) -> Span {
        tracing::info_span!("request", request_id = self.as_str(), %method)
    }

    /// As it is sent back, for [`X_REQUEST_ID`].
    #[must_use]
    pub fn into_header(self) -> HeaderValue {
        self.0
    }
}

fn is_well_formed(bytes: &[u8]) -> bool {
    let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    !bytes.is_empty() && bytes.len() <= LEN_MAX && bytes.iter().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&[u8]]) -> RequestId {
        let pair = |value: &&[u8]| (X_REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in values.iter().map(pair) {
            headers.append(name, value);
        }
        RequestId::of(&headers)
    }

    #[test]
    fn well_formed_ones_are_taken_over() {
        assert_eq!(of(&[b"abc-DEF_1.2"]).as_str(), "abc-DEF_1.2");
        assert_eq!(of(&[&[b'x'; 128]]).as_str(), "x".repeat(128));
    }

    #[test]
    fn others_are_replaced() {
        let long = [b'x'; 129];
        for values in [&[][..], &[&b""[..]], &[b"a b"], &[b"a\tb"], &[b"\xff"], &[b"<x>"], &[&long], &[b"a", b"b"]] {
            assert_eq!(of(values).as_str().len(), 26, "{values:?}");
        }
    }
}
