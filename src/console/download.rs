//! Answers that are saved and never shown.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

/// An answer that is saved under a name, of which what is plain is taken.
pub fn attached(body: Body, media_type: &'static str, name: &str) -> Response {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).collect();
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{plain}\""));
    let mut response = body.into_response();
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    fields.insert(CONTENT_DISPOSITION, disposition.unwrap_or(HeaderValue::from_static("attachment")));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_has_a_plain_name() {
        let response = attached(Body::empty(), "text/plain; charset=utf-8", "run-\"\r\n7.txt");
        assert_eq!(response.headers()[CONTENT_DISPOSITION], "attachment; filename=\"run-7.txt\"");
        assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    }
}
