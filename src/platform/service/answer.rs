//! What is answered: a status, a body and a few header fields; and the form in which it is remembered.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use quintet_storage::Uuid;
use serde_json::Value;

use crate::http::etag::ETag;
use crate::idempotency::StoredAnswer;

/// The media type of nearly everything.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Says that an answer is that of an earlier request with the same Idempotency-Key.
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What goes back to the caller, refusals apart.
#[derive(Debug)]
pub struct Answer {
    status: u16,
    headers: HeaderMap,
    body: AnswerBody,
    remembered: Remembered,
    /// The body that it is remembered with, if with another: one without its secret.
    remembered_body: Option<Bytes>,
    to: Option<AnswerTo>,
}

/// Whose a large answer is; an extension of the response, for the listener, where such answers wait to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerTo {
    /// The caller's tenant.
    pub tenant_id: Uuid,
    /// Whether the request may have changed something: then it is told in any case.
    pub is_change: bool,
}

/// From so many bytes on a response says whose it is.
const LARGE_BYTES: usize = 64 << 10;

/// A body as a whole, or as it comes.
#[derive(Debug)]
enum AnswerBody {
    Whole(Bytes),
    Stream(Body),
}

/// In which form an answer is remembered under its Idempotency-Key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Remembered {
    /// As it is.
    #[default]
    Open,
    /// Sealed for the tenant: it carries a secret.
    Sealed,
    /// Sealed for this member, and what was asked with it: both tell of a person.
    Personal(Uuid),
}

impl Answer {
    /// JSON.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Bytes>) -> Answer {
        Answer::of(status, JSON, AnswerBody::Whole(body.into()))
    }

    /// JSON, from a value.
    #[must_use]
    pub fn value(status: u16, value: &Value) -> Answer {
        Answer::json(status, value.to_string())
    }

    /// Nothing but a status.
    #[must_use]
    pub fn nothing(status: u16) -> Answer {
        let body = AnswerBody::Whole(Bytes::new());
        Answer {
            status,
            headers: HeaderMap::new(),
            body,
            remembered: Remembered::Open,
            remembered_body: None,
            to: None,
        }
    }

    /// Something else.
    #[must_use]
    pub fn other(status: u16, media_type: HeaderValue, body: impl Into<Bytes>) -> Answer {
        Answer::of(status, media_type, AnswerBody::Whole(body.into()))
    }

    /// Something that is made as it is sent.
    #[must_use]
    pub fn stream(status: u16, media_type: HeaderValue, body: Body) -> Answer {
        Answer::of(status, media_type, AnswerBody::Stream(body))
    }

    fn of(status: u16, media_type: HeaderValue, body: AnswerBody) -> Answer {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type)]);
        Answer { status, headers, body, remembered: Remembered::Open, remembered_body: None, to: None }
    }

    /// An answer given before, to the byte. `letter` is what the entity tag of the route's answers begins with, in front
    /// of the `version` that the body tells; empty: they have none.
    #[must_use]
    pub fn replayed(stored: StoredAnswer, letter: &str) -> Answer {
        let version = if letter.is_empty() { None } else { version_of(&stored.body) };
        let answer = match HeaderValue::try_from(stored.content_type) {
            Ok(media_type) if !media_type.is_empty() => Answer::other(stored.status, media_type, stored.body),
            _ => Answer::nothing(stored.status),
        };
        match version {
            Some(version) => answer.as_replay().tagged(&ETag::strong(&format!("{letter}{version}"))),
            None => answer.as_replay(),
        }
    }

    /// The same, said to have been given before.
    #[must_use]
    pub fn as_replay(self) -> Answer {
        self.header(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"))
    }

    /// The same with an entity tag.
    #[must_use]
    pub fn tagged(self, etag: &ETag) -> Answer {
        self.header(ETAG, etag.header_value())
    }

    /// The same with a header field.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Answer {
        self.headers.insert(name, value);
        self
    }

    /// The same with a header field besides those of that name that it has, such as a second `Set-Cookie`.
    #[must_use]
    pub fn also(mut self, name: HeaderName, value: HeaderValue) -> Answer {
        self.headers.append(name, value);
        self
    }

    /// The same, which carries a secret: it is remembered sealed.
    #[must_use]
    pub fn secret(mut self) -> Answer {
        self.remembered = Remembered::Sealed;
        self
    }

    /// The same, which tells of a member, as does what was asked: both are remembered sealed for that one, and forgotten when
    /// it is erased.
    #[must_use]
    pub fn personal(mut self, member_id: Uuid) -> Answer {
        self.remembered = Remembered::Personal(member_id);
        self
    }

    /// The same, remembered with another body: one without its secret.
    #[must_use]
    pub fn remembered_as(mut self, body: impl Into<Bytes>) -> Answer {
        self.remembered_body = Some(body.into());
        self
    }

    /// The same with another body, where one that follows from the request need not be remembered with the rest.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Answer {
        self.body = AnswerBody::Whole(body.into());
        self
    }

    /// The same, to a caller who was let in.
    #[must_use]
    pub fn to(mut self, to: AnswerTo) -> Answer {
        self.to = Some(to);
        self
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The fields of its header.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body, as far as it is there as a whole.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        match &self.body {
            AnswerBody::Whole(bytes) => bytes,
            AnswerBody::Stream(_) => &[],
        }
    }

    /// Whether it was given before.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.headers.contains_key(IDEMPOTENT_REPLAYED)
    }

    pub(super) fn remembered(&self) -> &Remembered {
        &self.remembered
    }

    /// The form in which it is remembered.
    pub(super) fn stored(&self) -> StoredAnswer {
        let body = match (&self.remembered_body, &self.body) {
            (Some(body), _) => body.to_vec(),
            (_, AnswerBody::Whole(body)) => body.to_vec(),
            (_, AnswerBody::Stream(_)) => Vec::new(),
        };
        let content_type = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        StoredAnswer { status: self.status, content_type: content_type.to_owned(), body }
    }

    /// The body as a whole; `None` if it is made as it is sent.
    #[must_use]
    pub fn into_whole(self) -> Option<Bytes> {
        match self.body {
            AnswerBody::Whole(bytes) => Some(bytes),
            AnswerBody::Stream(_) => None,
        }
    }

    /// As an HTTP response.
    #[must_use]
    pub fn into_response(self) -> Response {
        let is_large = self.body().len() >= LARGE_BYTES;
        let body = match self.body {
            AnswerBody::Whole(bytes) => Body::from(bytes),
            AnswerBody::Stream(body) => body,
        };
        let mut response = Response::new(body);
        if let Some(to) = self.to.filter(|_| is_large) {
            response.extensions_mut().insert(to);
        }
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *response.headers_mut() = self.headers;
        response
    }
}

/// Why a handler ends early.
#[derive(Debug)]
pub enum Stop<R> {
    /// The request was answered before; with this.
    Replay(Box<Answer>),
    /// It is refused.
    Refused(R),
}

impl<R> From<R> for Stop<R> {
    fn from(refusal: R) -> Stop<R> {
        Stop::Refused(refusal)
    }
}

/// The `version` that a body of JSON tells.
fn version_of(body: &[u8]) -> Option<u64> {
    let told: Value = serde_json::from_slice(body).ok()?;
    told.get("version")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_given_before_says_so_and_has_its_tag() {
        let stored = Answer::json(200, r#"{"version":7}"#).stored();
        let replayed = Answer::replayed(stored.clone(), "v");
        assert!(replayed.is_replay());
        assert_eq!(replayed.headers[ETAG], "\"v7\"");
        assert_eq!(replayed.body(), br#"{"version":7}"#);
        assert!(!Answer::replayed(stored, "").headers.contains_key(ETAG));
        let nothing = Answer::replayed(Answer::nothing(204).stored(), "");
        assert!(!nothing.headers.contains_key(CONTENT_TYPE));
    }

    #[test]
    fn a_secret_can_be_left_out_of_what_is_remembered() {
        let answer = Answer::json(201, r#"{"api_key":"rak_x"}"#).remembered_as(r#"{"api_key":null}"#);
        assert_eq!(answer.stored().body, br#"{"api_key":null}"#);
        assert_eq!(answer.body(), br#"{"api_key":"rak_x"}"#);
    }
}
