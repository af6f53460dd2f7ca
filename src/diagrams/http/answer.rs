//! Answers: JSON, pages, pictures, and one shape for every error.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::refusal::Refusal;

/// What could not be honoured.
pub(super) const X_RENDER_WARNING: HeaderName = HeaderName::from_static("x-render-warning");
/// The drawing was simplified.
pub(super) const X_RENDER_DEGRADED: HeaderName = HeaderName::from_static("x-render-degraded");
/// The longest value of a header field with warnings, in bytes.
const WARNING_BYTES_MAX: usize = 1024;

/// JSON with a status. Nothing of it may be kept by caches.
pub(super) fn json_answer(status: u16, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    nosniff(response)
}

/// What a refusal says as members of an object.
pub(super) fn error_members(refusal: &Refusal) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("error".to_owned(), json!(refusal.verdict().error));
    let (line, column) = refusal.place();
    if let Some(line) = line {
        members.insert("line".to_owned(), json!(line));
    }
    if let Some(column) = column {
        members.insert("column".to_owned(), json!(column));
    }
    members
}

/// A refusal in the one shape: `{error}`, with `line` and `column` where there is a place.
pub(super) fn refuse(refusal: &Refusal) -> Response {
    let response = json_answer(refusal.verdict().status, &Value::Object(error_members(refusal)));
    with_refusal_headers(response, refusal)
}

/// What a refusal says in header fields.
pub(super) fn with_refusal_headers(mut response: Response, refusal: &Refusal) -> Response {
    let verdict = refusal.verdict();
    if let Some(seconds) = verdict.retry_after_seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if verdict.status == 401 {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Nobody may take an answer for anything but what it says it is.
pub(super) fn nosniff(mut response: Response) -> Response {
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Says beside a picture what its drawing could not honour.
pub(super) fn tell_warnings(response: &mut Response, warnings: &[String], is_degraded: bool) {
    let mut text = String::new();
    for warning in warnings {
        let separator = if text.is_empty() { "" } else { "; " };
        // Header fields hold visible ASCII and blanks; whatever else a label put into a warning is a question mark.
        let plain = warning.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' });
        text.extend(separator.chars().chain(plain));
        if text.len() > WARNING_BYTES_MAX {
            text.truncate(WARNING_BYTES_MAX);
            break;
        }
    }
    if let (false, Ok(value)) = (text.is_empty(), HeaderValue::from_str(&text)) {
        response.headers_mut().insert(X_RENDER_WARNING, value);
    }
    if is_degraded {
        response.headers_mut().insert(X_RENDER_DEGRADED, HeaderValue::from_static("true"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_fit_into_a_header_field() {
        let warning = |texts: &[&str]| {
            let mut response = Response::new(Body::empty());
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            tell_warnings(&mut response, &texts, false);
            response.headers().get(X_RENDER_WARNING).map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(warning(&[]), None);
        assert_eq!(warning(&["a\r\nSet-Cookie: x", "\u{e9}"]).as_deref(), Some("a??Set-Cookie: x; ?"));
        assert_eq!(warning(&["w".repeat(300).as_str(); 9]).map(|text| text.len()), Some(WARNING_BYTES_MAX));
    }
}
