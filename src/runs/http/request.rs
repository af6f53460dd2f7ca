//! The way of a request: who asks, whether the key allows it, what path and query say, and the body.
//!
//! Everything is checked in one order: credential, permission, names of parameters, their values, the body's size, its
//! media type, its form, its members in the order of the documentation; then what the store says.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Uri};
use quintet_platform::NotAdmitted;
use quintet_platform::access::{AuthRefusal, Caller, Service};
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::http::body::{self, BodyError};
use quintet_platform::http::query::{Query, QueryError, decode_segment};
use quintet_platform::http::shown_name;
use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{self, Json, JsonError, Limits};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::routes::Route;
use crate::context::Context;
use crate::model::{RunId, RunKey, TenantId};
use crate::refusal::Refusal;

/// The largest body, in bytes: command and environment of 512 KiB, escaped as JSON.
const BODY_BYTES_MAX: usize = 2 << 20;
/// What is read at once, in bytes.
const SMALL_BODY_BYTES: usize = 64 << 10;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long a request may wait for the writer.
pub(super) const WRITER_TIME: Duration = Duration::from_secs(10);
/// The deepest JSON; the root is level 1.
const JSON_DEPTH: Limits = Limits { max_depth: 16 };

/// A request that was let in.
pub(super) struct Asked {
    /// In which tenant.
    pub(super) tenant_id: TenantId,
    /// By whom.
    pub(super) caller: Caller,
    /// What the query says, as far as nobody has taken it.
    pub(super) query: Query,
    headers: HeaderMap,
    body: Body,
    track_id: Option<String>,
}

/// Lets a request in.
pub(super) async fn ask(context: &Context, request: Request, route: &'static Route) -> Result<Asked, Refusal> {
    let (parts, body) = request.into_parts();
    let credential = parts.headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    let caller =
        context.admit(Service::Runs, credential, Some(route.permission)).await.map_err(|not| not_admitted(&not))?;
    let query = Query::parse(parts.uri.query()).map_err(|error| parameter(&error))?;
    check_names(query.clone(), route)?;
    Ok(Asked {
        tenant_id: TenantId(caller.tenant_id),
        caller,
        query,
        headers: parts.headers,
        body,
        track_id: track_id(route, &parts.uri),
    })
}

fn not_admitted(not: &NotAdmitted) -> Refusal {
    match not {
        NotAdmitted::Refused(refusal) => match refusal {
            AuthRefusal::Unauthenticated | AuthRefusal::CredentialExpired => Refusal::Unauthorized,
            AuthRefusal::TenantNotProvisioned => Refusal::Forbidden("the tenant is not provisioned for runs"),
            AuthRefusal::TenantSuspended => Refusal::Forbidden("the tenant is suspended"),
            AuthRefusal::Forbidden => Refusal::Forbidden(""),
        },
        NotAdmitted::OverQuota(wait) => Refusal::QuotaExceeded(*wait),
        NotAdmitted::Store(failure) => failed(failure),
        NotAdmitted::Unavailable | NotAdmitted::CredentialRejected => Refusal::AuthorizationUnavailable,
    }
}

/// Every unknown parameter at once, before anything is made of a value.
fn check_names(mut query: Query, route: &Route) -> Result<(), Refusal> {
    for known in route.parameters {
        let _ = query.take(known.name);
    }
    match query.finish() {
        Err(QueryError::Unknown(names)) => {
            let supported = route.parameters.iter().map(|known| known.name).collect();
            Err(Refusal::UnknownQueryParameter(names.join(", "), supported))
        }
        Err(error) => Err(parameter(&error)),
        Ok(()) => Ok(()),
    }
}

/// What the path has where its template has braces.
fn track_id(route: &Route, uri: &Uri) -> Option<String> {
    let mut pairs = route.path.split('/').zip(uri.path().split('/'));
    pairs.find(|(template, _)| template.starts_with('{')).and_then(|(_, segment)| decode_segment(segment))
}

impl Asked {
    /// The run of the path. A malformed id names nothing.
    pub(super) fn run_key(&self) -> Result<RunKey, Refusal> {
        let run_id = self.track_id.as_deref().and_then(parse_ulid).ok_or(Refusal::NotFound)?;
        Ok((self.tenant_id, RunId(run_id)))
    }

    /// A whole number of the query.
    pub(super) fn integer(&mut self, name: &str, least: i64, most: i64) -> Result<Option<u64>, Refusal> {
        let number = self.query.integer(name, least..=most).map_err(|error| parameter(&error))?;
        Ok(number.and_then(|number| u64::try_from(number).ok()))
    }

    /// A word of the query.
    pub(super) fn one_of(&mut self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Refusal> {
        self.query.one_of(name, words).map_err(|error| parameter(&error))
    }

    /// An instant of the query.
    pub(super) fn instant(&mut self, name: &str) -> Result<Option<Timestamp>, Refusal> {
        let Some(text) = self.query.take(name) else { return Ok(None) };
        let instant = parse_rfc3339(&text);
        instant.map(Some).map_err(|_| Refusal::field(name, "must be an RFC 3339 instant such as 2026-01-31T09:00:00Z"))
    }

    /// The body, as `read` understands its JSON. A large one is read on the blocking pool: 2 MiB of the smallest members
    /// take longer than others should wait for.
    pub(super) async fn json<T: Send + 'static>(
        self,
        context: &Context,
        read: impl FnOnce(Json) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let body =
            body::read(&self.headers, self.body, BODY_BYTES_MAX, BODY_TIME).await.map_err(|error| match error {
                BodyError::TooLarge => Refusal::PayloadTooLarge,
                BodyError::TimedOut | BodyError::Broken => Refusal::RequestTimeout,
            })?;
        if !body.is_empty() && !body::is_json(&self.headers) {
            return Err(Refusal::UnsupportedMediaType);
        }
        if body.len() <= SMALL_BODY_BYTES {
            return parse(&body).and_then(read);
        }
        let parse_and_read = move |_: &Context| Ok(parse(&body).and_then(read)?);
        context.look(parse_and_read).await.map_err(refusal_of)
    }
}

fn parse(body: &[u8]) -> Result<Json, Refusal> {
    json::parse(body, JSON_DEPTH).map_err(|error| match error {
        JsonError::DuplicateKey { .. } => Refusal::field("", error.to_string()),
        error => Refusal::MalformedJson(error.to_string()),
    })
}

/// One transaction.
pub(super) async fn write<T: Send + 'static>(
    context: &Context,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    context.write(WRITER_TIME, verb).await.map_err(refusal_of)
}

/// What a request is told of an abort.
pub(super) fn refusal_of(abort: Abort<Refusal>) -> Refusal {
    match abort {
        Abort::Refused(refusal) => refusal,
        Abort::Failed(failure) => failed(&failure),
    }
}

/// What a request is told of a failure of the store; the log has the rest.
pub(super) fn failed(failure: &Failure) -> Refusal {
    let refusal = Refusal::of_failure(failure);
    if refusal == Refusal::InternalError {
        tracing::error!(%failure, "the store failed");
    }
    refusal
}

/// Faults of a query string.
fn parameter(error: &QueryError) -> Refusal {
    match error {
        QueryError::Invalid { name, expected } => Refusal::field(name.clone(), format!("must be {expected}")),
        QueryError::Duplicate(name) => Refusal::field(name.clone(), "occurs more than once"),
        QueryError::Missing(name) => Refusal::field(name.clone(), "is required"),
        QueryError::Unknown(names) => Refusal::field(shown_name(&names.join(", ")), "is not known here"),
        QueryError::Malformed | QueryError::TooMany => Refusal::field("", error.to_string()),
    }
}
