//! What is answered: a status, a body and a few headers; and the form in which it is remembered.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use quintet_platform::http::etag::ETag;
use quintet_platform::idempotency::StoredAnswer;

use crate::refusal::Refusal;

/// Says that an answer is that of an earlier request with the same Idempotency-Key.
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const JSON: &str = "application/json";

/// A success.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    status: u16,
    content_type: &'static str,
    body: Bytes,
    etag: Option<ETag>,
    is_replay: bool,
}

impl Answer {
    /// JSON.
    pub(super) fn json(status: u16, body: Vec<u8>) -> Answer {
        Answer { status, content_type: JSON, body: body.into(), etag: None, is_replay: false }
    }

    /// Something else.
    pub(super) fn other(content_type: &'static str, body: impl Into<Bytes>) -> Answer {
        Answer { status: 200, content_type, body: body.into(), etag: None, is_replay: false }
    }

    /// The same with an entity tag.
    pub(super) fn tagged(mut self, etag: ETag) -> Answer {
        self.etag = Some(etag);
        self
    }

    /// The same with another body: one that follows from the request is not remembered with the rest.
    pub(super) fn with_body(mut self, body: Vec<u8>) -> Answer {
        self.body = body.into();
        self
    }

    /// An answer given before, to the byte. `etag_letter` is what the entity tag of the route's answers begins with, in
    /// front of the `version` that the body tells; empty: they have none.
    pub(super) fn replayed(stored: StoredAnswer, etag_letter: &str) -> Answer {
        let version = || serde_json::from_slice::<Versioned>(&stored.body).ok();
        let etag = if etag_letter.is_empty() { None } else { version() };
        Answer {
            status: stored.status,
            content_type: JSON,
            etag: etag.map(|versioned| ETag::strong(&format!("{etag_letter}{}", versioned.version))),
            body: stored.body.into(),
            is_replay: true,
        }
    }

    /// The form in which it is remembered.
    pub(super) fn stored(&self) -> StoredAnswer {
        StoredAnswer { status: self.status, content_type: self.content_type.to_owned(), body: self.body.to_vec() }
    }

    /// As an HTTP response.
    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if let Some(etag) = self.etag {
            headers.insert(ETAG, etag.header_value());
        }
        if self.is_replay {
            headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

#[derive(serde::Deserialize)]
struct Versioned {
    version: u64,
}

/// A refusal as an HTTP response.
pub(super) fn refuse(refusal: &Refusal) -> Response {
    let mut response = refusal.problem().into_response();
    if *refusal == Refusal::Unauthenticated {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The response of an outcome.
pub(super) fn answered(outcome: Result<Answer, Refusal>) -> Response {
    match outcome {
        Ok(answer) => answer.into_response(),
        Err(refusal) => refuse(&refusal),
    }
}
