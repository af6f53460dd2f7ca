//! Problem details (RFC 9457): the error body of the localization, run and messaging services.
//!
//! A problem carries `type`, `title`, `status` and `code`, and may carry `detail`, `field` and further members.
//! Texts in it are ours: nothing of the request comes back except names that went through
//! [`shown_name`](super::shown_name).

use axum::body::Body;
use axum::response::{IntoResponse, Response};

use ::http::header::{CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::json::{Json, to_compact};

/// The media type of a problem.
pub const CONTENT_TYPE_PROBLEM: &str = "application/problem+json";

/// A kind of problem as a service documents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The status it comes with.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// The URI of the problem's type.
    pub type_uri: &'static str,
    /// What it means, in a line; the problem's title.
    pub title: &'static str,
}

/// A service's table of problems: `problem_kinds! { "urn:runs:problem:"; 404 "not_found" "Not found" … }`.
#[macro_export]
macro_rules! problem_kinds {
    ($prefix:literal; $($status:literal $code:literal $title:literal)*) => {
        &[$($crate::http::problem::Kind {
            status: $status,
            code: $code,
            type_uri: concat!($prefix, $code),
            title: $title,
        }),*]
    };
}

/// An error answer. Cheap to build, complete in itself.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    type_uri: &'static str,
    title: Option<&'static str>,
    detail: Option<String>,
    field: Option<String>,
    members: Vec<(String, Json)>,
    headers: HeaderMap,
}

impl Problem {
    /// A problem with the service's stable code. Its title is the status's own phrase until it gets another.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str) -> Problem {
        Problem {
            status,
            code,
            type_uri: "about:blank",
            title: None,
            detail: None,
            field: None,
            members: Vec::new(),
            headers: HeaderMap::new(),
        }
    }

    /// The problem with this status and code, with the type and title that the service's table gives it.
    #[must_use]
    pub fn of(kinds: &[Kind], status: u16, code: &'static str) -> Problem {
        let problem = Problem::new(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), code);
        match kinds.iter().find(|kind| (kind.status, kind.code) == (status, code)) {
            Some(kind) => problem.type_uri(kind.type_uri).title(kind.title),
            None => problem,
        }
    }

    /// A summary that is the same for every problem of this code.
    #[must_use]
    pub fn title(mut self, title: &'static str) -> Problem {
        self.title = Some(title);
        self
    }

    /// A URI that names the kind of problem, instead of `about:blank`.
    #[must_use]
    pub fn type_uri(mut self, uri: &'static str) -> Problem {
        self.type_uri = uri;
        self
    }

    /// What is particular about this occurrence. No input in it.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Problem {
        self.detail = Some(detail.into());
        self
    }

    /// The field or parameter at fault.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Problem {
        self.field = Some(field.into());
        self
    }

    /// A further member, behind the standard ones and never one of them.
    #[must_use]
    pub fn member(mut self, name: &'static str, value: impl Into<Json>) -> Problem {
        if !["type", "title", "status", "code", "detail", "field"].contains(&name) {
            self.members.push((name.to_owned(), value.into()));
        }
        self
    }

    /// A header of the answer, such as the current `ETag`.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Problem {
        self.headers.insert(name, value);
        self
    }

    /// `Retry-After`, in seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Problem {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The body as JSON text.
    #[must_use]
    pub fn body(&self) -> String {
        let title = self.title.or(self.status.canonical_reason()).unwrap_or("Error");
        let mut members = vec![
            ("type".to_owned(), Json::from(self.type_uri)),
            ("title".to_owned(), Json::from(title)),
            ("status".to_owned(), Json::from(self.status.as_u16())),
            ("code".to_owned(), Json::from(self.code)),
        ];
        members.extend(self.detail.as_deref().map(|detail| ("detail".to_owned(), Json::from(detail))));
        members.extend(self.field.as_deref().map(|field| ("field".to_owned(), Json::from(field))));
        members.extend(self.members.iter().cloned());
        to_compact(&Json::Object(members))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE_PROBLEM));
        response
    }
}

#[cfg(test)]
mod tests {
    use ::http::header::ETAG;
    use http_body_util::BodyExt as _;

    use super::*;

    #[test]
    fn smallest_body() {
        let problem = Problem::new(StatusCode::NOT_FOUND, "not_found");
        assert_eq!(problem.body(), r#"{"type":"about:blank","title":"Not Found","status":404,"code":"not_found"}"#);
    }

    #[test]
    fn fullest_body() {
        let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "qa_failed")
            .type_uri("urn:example:qa")
            .title("A blocking check failed")
            .detail("Q01 \"quoted\"")
            .field("text")
            .member("checks", vec![Json::from("Q01")])
            .member("status", 200_u16);
        assert_eq!(
            problem.body(),
            concat!(
                r#"{"type":"urn:example:qa","title":"A blocking check failed","status":422,"code":"qa_failed","#,
                r#""detail":"Q01 \"quoted\"","field":"text","checks":["Q01"]}"#
            )
        );
    }

    #[test]
    fn a_table_gives_type_and_title() {
        const KINDS: &[Kind] = crate::problem_kinds! { "urn:example:"; 404 "not_found" "Nothing is there" };
        let body = Problem::of(KINDS, 404, "not_found").body();
        assert!(body.contains(r#""type":"urn:example:not_found","title":"Nothing is there""#), "{body}");
        assert!(Problem::of(KINDS, 409, "other").body().contains("about:blank"));
    }

    #[tokio::test]
    async fn as_a_response() {
        let problem = Problem::new(StatusCode::PRECONDITION_FAILED, "precondition_failed")
            .header(ETAG, HeaderValue::from_static("\"v3\""))
            .retry_after(30);
        let body = problem.body();
        let response = problem.into_response();
        assert_eq!(response.status(), 412);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        assert_eq!(response.headers()[ETAG], "\"v3\"");
        assert_eq!(response.headers()[RETRY_AFTER], "30");
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body.as_bytes());
    }
}
