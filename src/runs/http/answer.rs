//! What is answered: a status, a body and a few headers; refusals as problems with the id of the request.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use quintet_platform::http::request_id::RequestId;

use crate::refusal::Refusal;

const JSON: &str = "application/json";

/// A success.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    content_type: &'static str,
    body: Body,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Answer {
    /// JSON.
    pub(super) fn json(status: u16, value: &serde_json::Value) -> Answer {
        Answer::other(status, JSON, value.to_string())
    }

    /// JSON that is written already.
    pub(super) fn text(status: u16, json: String) -> Answer {
        Answer::other(status, JSON, json)
    }

    /// Nothing but the status 204.
    pub(super) fn nothing() -> Answer {
        Answer::other(204, "", Bytes::new())
    }

    /// Something else.
    pub(super) fn other(status: u16, content_type: &'static str, body: impl Into<Body>) -> Answer {
        Answer { status, content_type, body: body.into(), header: None }
    }

    /// The same with one more header.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Answer {
        self.header = Some((name, value));
        self
    }

    /// As an HTTP response.
    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(self.body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if !self.content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        headers.extend(self.header);
        response
    }
}

/// A refusal on its way out; [`tell`] writes its body.
pub(super) fn refuse(refusal: &Refusal) -> Response {
    let mut response = refusal.problem("").into_response();
    if *refusal == Refusal::Unauthorized {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response.extensions_mut().insert(Refused(refusal.clone()));
    response
}

/// Marks a response as a refusal.
#[derive(Clone)]
struct Refused(Refusal);

/// Puts the request's id into every problem.
pub(super) async fn tell(request: Request, next: Next) -> Response {
    let request_id = request.extensions().get::<RequestId>().map(|id| id.as_str().to_owned()).unwrap_or_default();
    let mut response = next.run(request).await;
    if let Some(Refused(refusal)) = response.extensions_mut().remove::<Refused>() {
        *response.body_mut() = Body::from(refusal.problem(&request_id).body());
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
