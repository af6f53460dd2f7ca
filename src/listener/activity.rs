//! What goes on on one connection: whether a request is under way, and whether its body was read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

/// Requests on one connection follow one another, so one of each flag serves them all.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_request_open: AtomicBool,
    is_body_unread: AtomicBool,
    is_write_stuck: AtomicBool,
}

impl Activity {
    /// Notes that a request begins, and watches its body.
    pub(super) fn begin(&self, request: Request<Incoming>) -> Request<Body> {
        self.0.is_request_open.store(true, Ordering::Relaxed);
        self.0.is_body_unread.store(!request.body().is_end_stream(), Ordering::Relaxed);
        request.map(|body| Body::new(WatchedBody { body, activity: self.clone() }))
    }

    /// Notes that the request ends once this answer was taken over for writing. An answer that did not wait for the
    /// request's body is the connection's last, and says so: a client that used the connection again would lose.
    pub(super) fn end(&self, mut answer: Response) -> Response {
        if self.is_body_unread() {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer.map(|body| Body::new(WatchedAnswer { body, activity: self.clone() }))
    }

    /// Notes whether what was written waits for the client to read.
    pub(super) fn set_write_stuck(&self, is_stuck: bool) {
        self.0.is_write_stuck.store(is_stuck, Ordering::Relaxed);
    }

    /// Whether nothing would be lost if the connection ended now: no request has begun, and every answer was sent.
    pub(super) fn is_idle(&self) -> bool {
        !self.0.is_request_open.load(Ordering::Relaxed) && !self.0.is_write_stuck.load(Ordering::Relaxed)
    }

    /// Whether the last request's body was not read to its end.
    pub(super) fn is_body_unread(&self) -> bool {
        self.0.is_body_unread.load(Ordering::Relaxed)
    }
}

/// A request's body that says whether it was read to its end.
struct WatchedBody {
    body: Incoming,
    activity: Activity,
}

impl hyper::body::Body for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.activity.0.is_body_unread.store(false, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body; when it is dropped, all of it has gone to be written.
struct WatchedAnswer {
    body: Body,
    activity: Activity,
}

impl hyper::body::Body for WatchedAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for WatchedAnswer {
    fn drop(&mut self) {
        self.activity.0.is_request_open.store(false, Ordering::Relaxed);
    }
}
