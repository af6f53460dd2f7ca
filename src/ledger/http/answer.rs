//! Answers: one shape for success, one envelope for every error.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use quintet_platform::idempotency::StoredAnswer;
use serde::Serialize;
use serde_json::Value;

use crate::refusal::Refusal;

/// The content type of everything the ledger says.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Marks an answer that was given before.
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What goes back to the caller.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    status: u16,
    body: Vec<u8>,
    retry_after_seconds: Option<u32>,
    is_replay: bool,
    /// Why it is no success.
    refusal: Option<Refusal>,
}

impl Answer {
    /// A success.
    pub(super) fn of(status: u16, body: Vec<u8>) -> Answer {
        Answer { status, body, retry_after_seconds: None, is_replay: false, refusal: None }
    }

    /// A refusal in the envelope.
    pub(super) fn refused(refusal: &Refusal) -> Answer {
        let verdict = refusal.verdict();
        let error = ErrorBody { code: verdict.code, message: verdict.message, details: refusal.details() };
        // The envelope has no maps with keys that are no strings, so writing it cannot fail.
        let body = serde_json::to_vec(&Envelope { error }).unwrap_or_default();
        Answer {
            status: verdict.status,
            body,
            retry_after_seconds: verdict.retry_after_seconds,
            is_replay: false,
            refusal: Some(refusal.clone()),
        }
    }

    /// An answer given before, to the byte.
    pub(super) fn replayed(stored: StoredAnswer) -> Answer {
        Answer { status: stored.status, body: stored.body, retry_after_seconds: None, is_replay: true, refusal: None }
    }

    /// Why it is no success, if it is none and not a replay.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Whether it says that something was done.
    pub(super) fn is_success(&self) -> bool {
        self.status < 300
    }

    /// Adds the answer as one result of a bulk call to the results before it.
    pub(super) fn write_result(&self, results: &mut Vec<u8>) {
        if !results.is_empty() {
            results.push(b',');
        }
        results.extend_from_slice(b"{\"status\":");
        results.extend_from_slice(self.status.to_string().as_bytes());
        results.extend_from_slice(b",\"body\":");
        results.extend_from_slice(&self.body);
        results.push(b'}');
    }

    /// The results of two slices of a bulk call. A replay only if both are.
    pub(super) fn joined(mut self, next: Answer) -> Answer {
        self.body.push(b',');
        self.body.extend_from_slice(&next.body);
        self.is_replay &= next.is_replay;
        self
    }

    /// A success with something around its body.
    pub(super) fn wrapped(mut self, before: &[u8], after: &[u8]) -> Answer {
        if self.is_success() {
            self.body = [before, &self.body, after].concat();
        }
        self
    }

    /// The form in which it is remembered.
    pub(super) fn stored(&self) -> StoredAnswer {
        StoredAnswer { status: self.status, content_type: "application/json".to_owned(), body: self.body.clone() }
    }

    /// As an HTTP response.
    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.is_replay {
            headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
        }
        if self.status == 401 {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A refusal as an HTTP response.
pub(super) fn refuse(refusal: &Refusal) -> Response {
    Answer::refused(refusal).into_response()
}

#[derive(Serialize)]
struct Envelope {
    error: ErrorBody,
}

#[derive(Serialize)]
struct ErrorBody {
    code: &'static str,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}
