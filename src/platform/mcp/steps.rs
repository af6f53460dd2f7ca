//! The requests that a tool's call comes to, and what it has come to itself.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, Method, Request};
use quintet_storage::Uuid;

use super::argument::Form;
use super::arguments::{self, Asked, ByTool, Outer};
use crate::json::{Json, to_compact};
use crate::service::{Answer, Answered, Dialect, Endpoint, Endpoints, Fault, Stop, Turn, endpoint};

/// What a tool's call came to: a body, which is what its route answered, or a problem.
pub struct Told {
    pub(super) body: Bytes,
    pub(super) is_error: bool,
    /// What is held until it is written.
    pub(super) held: Option<Turn>,
}

impl Told {
    /// A success.
    #[must_use]
    pub fn success(body: impl Into<Bytes>) -> Told {
        Told { body: body.into(), is_error: false, held: None }
    }

    /// The same of a value.
    #[must_use]
    pub fn value(value: &Json) -> Told {
        Told::success(to_compact(value).into_bytes())
    }

    /// The same, which keeps a turn until it is written.
    #[must_use]
    pub fn holding(mut self, turn: Turn) -> Told {
        self.held = Some(turn);
        self
    }
}

/// How a tool's call ends.
pub type Ended<D> = Result<Told, Stop<<D as Dialect>::Refusal>>;

/// What does the requests of a tool that is more than one route: with the call's arguments.
pub type Compose<D> = for<'a> fn(&'a Steps<'a, D>, Vec<(String, Json)>) -> BoxFuture<'a, Ended<D>>;

/// A tool's call on its way.
pub struct Steps<'a, D: Dialect> {
    /// What handlers work with.
    pub context: &'a D::Context,
    /// Whose key it is.
    pub tenant_id: Uuid,
    endpoints: Endpoints<D>,
    outer: Outer<'a>,
    is_change: AtomicBool,
}

impl<'a, D: Dialect> Steps<'a, D> {
    pub(super) fn new(
        context: &'a D::Context,
        tenant_id: Uuid,
        endpoints: Endpoints<D>,
        outer: Outer<'a>,
    ) -> Steps<'a, D> {
        Steps { context, tenant_id, endpoints, outer, is_change: AtomicBool::new(false) }
    }

    /// Whether anything was asked that may have changed something.
    pub(super) fn is_change(&self) -> bool {
        self.is_change.load(Ordering::Relaxed)
    }

    /// Has a route answer, such as `GET /a/{id}`, from arguments that are called as it calls them.
    ///
    /// # Errors
    /// What the route refuses.
    pub async fn call(&self, template: &str, arguments: Vec<(String, Json)>) -> Answered<D> {
        self.requested(template, arguments, None).await
    }

    /// The same as HEAD does, but for the body, which is there: of what a GET does besides nothing is done.
    ///
    /// # Errors
    /// What the route refuses.
    pub async fn look(&self, template: &str, arguments: Vec<(String, Json)>) -> Answered<D> {
        self.requested(template, arguments, Some(Method::HEAD)).await
    }

    async fn requested(&self, template: &str, arguments: Vec<(String, Json)>, method: Option<Method>) -> Answered<D> {
        let endpoint = endpoint(self.endpoints, template).ok_or_else(|| D::Refusal::from(Fault::Internal))?;
        match self.asked(endpoint, &Form::PLAIN, arguments) {
            Ok(Asked { mut request, .. }) => {
                let own = request.method().clone();
                *request.method_mut() = method.unwrap_or(own);
                self.serve(endpoint, request).await
            }
            Err(fault) => Err(self.admitted(endpoint, false).await.err().unwrap_or_else(|| fault.into()).into()),
        }
    }

    /// The request that arguments mean.
    pub(super) fn asked(
        &self,
        endpoint: &'static Endpoint<D>,
        form: &Form,
        arguments: Vec<(String, Json)>,
    ) -> Result<Asked, Fault> {
        arguments::request(endpoint.route, form, arguments, &self.outer)
    }

    /// Serves a request as if it had come by itself.
    pub(super) async fn serve(&self, endpoint: &'static Endpoint<D>, request: Request<Body>) -> Answered<D> {
        self.is_change.fetch_or(endpoint.route.is_change(), Ordering::Relaxed);
        let answered = endpoint.serve(self.context.clone(), self.endpoints, request).await;
        match answered {
            Err(Stop::Replay(answer)) => Ok(*answer),
            answered => answered,
        }
    }

    /// Whether a route would let the caller in: who may not call it is told that before anything else.
    pub(super) async fn admitted(&self, endpoint: &'static Endpoint<D>, is_of_own: bool) -> Result<(), D::Refusal> {
        let (parts, _) = self.outer.request(ByTool { is_of_own }).into_parts();
        D::admit(self.context, endpoint.route, &parts).await.map(|_| ())
    }
}

/// The fields that a request of a call takes over from the one that it came with, besides those of its own.
pub(super) fn carried<'h>(
    headers: &'h http::HeaderMap,
    names: impl IntoIterator<Item = &'static str> + 'h,
) -> impl Iterator<Item = (HeaderName, HeaderValue)> + 'h {
    names.into_iter().flat_map(|name| {
        let name = HeaderName::from_static(name);
        headers.get_all(&name).iter().cloned().map(move |value| (name.clone(), value)).collect::<Vec<_>>()
    })
}

/// An answer's body as a whole; of one that is made as it is sent, or has none, nothing.
pub(super) fn whole(answer: Answer) -> Option<Bytes> {
    answer.into_whole().filter(|body| !body.is_empty())
}
