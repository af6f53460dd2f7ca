//! A service's dialect: what is its own about the way that all requests go.

use std::future::Future;
use std::time::Duration;

use axum::response::Response;
use http::HeaderValue;
use http::request::Parts;
use quintet_storage::{Abort, Snapshot, Uuid, WriteTx};
use serde_json::{Map, Value};

use super::answer::{Answer, Stop};
use super::fault::Fault;
use super::route::Route;
use super::turns::Turns;
use super::verdict::{Code, Verdict};
use crate::Foundation;
use crate::access::{Basis, Service, authorization};
use crate::json;

/// A service's refusals: one type, and one match from it to a [`Verdict`].
pub trait ServiceRefusal: quintet_storage::Refusal + From<Fault> + Clone + Send + Sync + 'static {
    /// How it is answered.
    fn verdict(&self) -> Verdict;

    /// Whether the answer is the request's last word, so that a service that remembers refusals keeps it for replays:
    /// what a repeat cannot change.
    fn is_final(&self) -> bool {
        let verdict = self.verdict();
        matches!(verdict.status, 409 | 410 | 422) && verdict.retry_after_seconds.is_none()
    }
}

/// What a service demands of requests.
#[derive(Clone, Copy, Debug)]
pub struct Demands {
    /// The largest body of JSON, in bytes.
    pub body_bytes_max: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How long a request may wait for the writer.
    pub writer_time: Duration,
    /// The deepest JSON; the root is level 1.
    pub json: json::Limits,
    /// Whether bodies must say that they are JSON.
    pub wants_media_type: bool,
    /// The longest Idempotency-Key, in characters.
    pub key_chars_max: usize,
    /// How long an answer is remembered under its Idempotency-Key, in seconds: whole hours.
    pub key_kept_seconds: i64,
    /// Whether final refusals are remembered under an Idempotency-Key, too. Then all that is wrong with what a request
    /// says waits until its key was looked up: a repeat gets its first answer, even if that was a refusal.
    pub remembers_refusals: bool,
}

/// What a service says of itself in `/openapi.json` and `/llms.txt`.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// What it is called.
    pub title: &'static str,
    /// The version of the interface.
    pub version: &'static str,
    /// What it is, in a few sentences.
    pub description: &'static str,
    /// What an agent needs to know besides the lists; Markdown.
    pub guide: &'static str,
    /// The shapes of bodies and answers: JSON objects of schemas by name.
    pub schemas: &'static [&'static str],
    /// Every code that is answered.
    pub codes: &'static [Code],
    /// The media type of errors, and the name of their schema.
    pub error: (&'static str, &'static str),
}

/// How a handler ends.
pub type Answered<D> = Result<Answer, Stop<<D as Dialect>::Refusal>>;

/// What a transaction asks before it does anything.
pub type Recheck<R> = Box<dyn FnOnce(&WriteTx<'_>) -> Result<(), Abort<R>> + Send>;

/// Whose key a request shows, where nothing is asked of what it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognized {
    /// The key's tenant.
    pub tenant_id: Uuid,
    /// The name of whoever acts with it where the request names nobody, if the key says that.
    pub name: Option<String>,
}

/// What is a service's own about the way that all requests go.
pub trait Dialect: Sized + Send + Sync + 'static {
    /// What its handlers work with.
    type Context: Clone + Send + Sync + 'static;
    /// Who calls, once let in.
    type Caller: Send + Sync + 'static;
    /// Its refusals.
    type Refusal: ServiceRefusal;

    /// Which of the services it is.
    const SERVICE: Service;
    /// What it demands of requests.
    const DEMANDS: Demands;
    /// What it says of itself.
    const INTERFACE: Interface;

    /// How its keys begin, for `/openapi.json`.
    const KEY_FORM: &'static str = "rak_...";

    /// What it stands on.
    fn foundation(context: &Self::Context) -> &Foundation;

    /// Where large bodies are read, so that the threads that serve are free meanwhile; `None`: bodies are small.
    fn turns(_context: &Self::Context) -> Option<&Turns> {
        None
    }

    /// Lets a request in: who asks, and whether they may.
    fn admit(
        context: &Self::Context,
        route: &'static Route,
        parts: &Parts,
    ) -> impl Future<Output = Result<Self::Caller, Self::Refusal>> + Send;

    /// Whose key a request shows that is answered by having other routes serve: those let it in and count it.
    fn recognize(
        context: &Self::Context,
        parts: &Parts,
    ) -> impl Future<Output = Result<Recognized, Self::Refusal>> + Send {
        async move {
            let caller = Self::foundation(context).recognize(Self::SERVICE, authorization(&parts.headers)).await;
            let caller = caller.map_err(|not| Self::Refusal::from(Fault::of_admission(not)))?;
            Ok(Recognized { tenant_id: caller.tenant_id, name: None })
        }
    }

    /// What a browser is refused with that asks for a page of another site, which may not.
    fn from_elsewhere() -> Self::Refusal {
        Fault::Forbidden.into()
    }

    /// What a caller was let in by, which is asked again in the transaction of a change, and before an answer is repeated;
    /// `None`: that is the service's own, and so is asking for it ([`Dialect::recheck`]).
    fn basis(caller: &Self::Caller) -> Option<Basis>;

    /// What is asked again besides in the transaction of a change, for what was true when the caller was let in may have ended
    /// while the body arrived; `None`: nothing. It is asked with every change, and must be cheap.
    fn recheck(_caller: &Self::Caller, _route: &'static Route) -> Option<Recheck<Self::Refusal>> {
        None
    }

    /// The same, before an answer that was remembered is given again without a transaction.
    ///
    /// # Errors
    /// The caller may not any more.
    fn recheck_repeat(
        _caller: &Self::Caller,
        _route: &'static Route,
        _read: &Snapshot,
    ) -> Result<(), Abort<Self::Refusal>> {
        Ok(())
    }

    /// The tenant that a caller acts in.
    fn tenant_id(caller: &Self::Caller) -> Uuid;

    /// What an Idempotency-Key is unique within, besides service and tenant. `path` is that of the request, what varies in
    /// it in one spelling.
    fn key_scope(_caller: &Self::Caller, route: &Route, _path: &str) -> String {
        route.template()
    }

    /// The body of an error: its media type and its bytes. `request_id` is that of the request which it answers.
    fn write(verdict: &Verdict, request_id: &str) -> (HeaderValue, Vec<u8>);

    /// What all its answers have besides.
    fn dress(_response: &mut Response) {}

    /// The shape of its errors.
    fn error_schema() -> Value;

    /// What it knows of its codes, for `/openapi.json`.
    fn told_codes() -> Vec<Value> {
        Self::INTERFACE
            .codes
            .iter()
            .map(|code| serde_json::json!({"status": code.status, "code": code.code, "title": code.title}))
            .collect()
    }

    /// What the guide says of a code.
    fn code_line(status: u16, code: &str, title: &str) -> String {
        format!("{status} {code}: {}.", title.trim_end_matches('.'))
    }

    /// The error codes of a route that follow from what is particular to the service.
    fn codes_besides(_route: &Route) -> Vec<&'static str> {
        Vec::new()
    }

    /// Adds what the description of a route has besides, such as header fields of the service's own.
    fn describe(_route: &Route, _operation: &mut Map<String, Value>) {}

    /// What the guide says besides, behind routes and shapes.
    fn guide_appendix() -> String {
        String::new()
    }
}
