//! One identifier for each request: taken over from a well-formed `X-Request-Id` or made, put on every line that
//! is logged while the request is served, and sent back.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;

use ::http::{Extensions, HeaderMap, HeaderName, HeaderValue};

use crate::ids;

/// `X-Request-Id`
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest identifier that is taken over, in characters.
const LEN_MAX: usize = 128;

/// The identifier of the request being served; an extension of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Its text: 1 to 128 of letters, digits, `.`, `_`, `-`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The one that a request brings, if it brings exactly one and it is well-formed; else a new one.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> RequestId {
        let mut values = headers.get_all(X_REQUEST_ID).iter();
        match (values.next(), values.next()) {
            (Some(only), None) => RequestId::parse(only.as_bytes()),
            _ => None,
        }
        .unwrap_or_else(|| RequestId(ids::request_id()))
    }

    fn parse(bytes: &[u8]) -> Option<RequestId> {
        let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        if bytes.is_empty() || bytes.len() > LEN_MAX || !bytes.iter().all(known) {
            return None;
        }
        String::from_utf8(bytes.to_vec()).ok().map(RequestId)
    }
}

/// The middleware, for `axum::middleware::from_fn(request_id::assign)`: outermost, so that refusals carry the
/// identifier too.
pub async fn assign(mut request: Request, next: Next) -> Response {
    // Whoever has to answer should a handler panic has given it one already.
    let given = request.extensions_mut().remove::<RequestId>();
    let id = given.unwrap_or_else(|| RequestId::of(request.headers()));
    let header = HeaderValue::from_str(id.as_str()).ok();
    let span = tracing::info_span!("request", request_id = id.as_str(), method = %request.method());
    request.extensions_mut().insert(id);
    let mut response = next.run(request).instrument(span).await;
    if let Some(header) = header {
        response.headers_mut().insert(X_REQUEST_ID, header);
    }
    response
}

/// The answer to a request that is refused before the middleware has seen it, with its identifier all the same.
pub fn assigned(headers: &HeaderMap, answer: impl FnOnce(&Extensions) -> Response) -> Response {
    answered(RequestId::of(headers), answer)
}

/// An answer that nobody behind the middleware gives any more, with the identifier that the request has.
pub fn answered(id: RequestId, answer: impl FnOnce(&Extensions) -> Response) -> Response {
    let header = HeaderValue::from_str(id.as_str()).ok();
    let mut extensions = Extensions::new();
    extensions.insert(id);
    let mut response = answer(&extensions);
    if let Some(header) = header {
        response.headers_mut().insert(X_REQUEST_ID, header);
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use axum::{Extension, Router, middleware};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

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

    #[tokio::test]
    async fn it_is_echoed_and_handed_on() {
        let handler = |Extension(id): Extension<RequestId>| async move { id.as_str().to_owned() };
        let app = Router::new().route("/", get(handler)).layer(middleware::from_fn(assign));
        for (path, status) in [("/", 200), ("/absent", 404)] {
            let request = Request::get(path).header("x-request-id", "mine").body(Body::empty()).unwrap();
            let response = app.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()["x-request-id"], "mine");
            if status == 200 {
                assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "mine");
            }
        }
    }

    #[tokio::test]
    async fn one_that_was_given_before_stays() {
        let app = Router::new().route("/", get(async || "")).layer(middleware::from_fn(assign));
        let mut request = Request::get("/").header("x-request-id", "mine").body(Body::empty()).unwrap();
        request.extensions_mut().insert(of(&[b"given"]));
        assert_eq!(app.oneshot(request).await.unwrap().headers()["x-request-id"], "given");
    }
}
