//! A problem (RFC 9457) of a listener that is no service: its title is the status's own phrase. Those of services are
//! written by their dialects ([`service::problem`](crate::service::problem)).

use axum::response::{IntoResponse, Response};

use ::http::StatusCode;
use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};

/// An answer with this status, stable code, and sentence. No input in it.
#[must_use]
pub fn problem(status: StatusCode, code: &'static str, detail: &str) -> Response {
    let body = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or_default(),
        "status": status.as_u16(),
        "code": code,
        "detail": detail,
    });
    let headers = [(CONTENT_TYPE, "application/problem+json"), (CACHE_CONTROL, "no-store")];
    (status, headers, body.to_string()).into_response()
}
