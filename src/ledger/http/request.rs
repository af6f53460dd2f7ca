//! The way of a request: who asks, what is asked, the verb, the answer.
//!
//! A mutating request is checked in one order: credential, permission, tenant, Idempotency-Key, size of the body,
//! depth of its JSON; then, in the writer, whether the key was used before; then what the request says, and last
//! what the ledger's rules say. What the request says is looked at before the writer is entered, to keep it short,
//! but a refusal found there waits for the replay check: a repeat gets its first answer even if that was a refusal.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri};
use quintet_platform::NotAdmitted;
use quintet_platform::access::{self, AuthRefusal, Service};
use quintet_platform::http::body::{self, BodyError};
use quintet_platform::http::json::{self, Json, JsonError, Limits};
use quintet_platform::http::query::{Query, QueryError, decode_segment};
use quintet_platform::idempotency::{self, IDEMPOTENCY_KEY, Lookup, MalformedKey, RequestDigest, Scope};
use quintet_platform::ids::parse_uuid;
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Snapshot, Timestamp, Uuid, WriteTx};

use super::answer::{Answer, refuse};
use super::routes::{HEALTH, Route};
use super::{Context, input};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// The largest body, in bytes.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long a request may wait for the writer.
pub(super) const WRITER_TIME: Duration = Duration::from_secs(5);
/// The deepest JSON; the root is level 1.
const JSON_DEPTH: Limits = Limits { max_depth: 64 };
/// The places of ids among the segments of a path, the empty one before the first slash counted.
const ID_PLACE: usize = 3;
const KEY_ID_PLACE: usize = 5;
/// The longest Idempotency-Key, in characters of UTF-8.
pub(super) const KEY_CHARS_MAX: usize = 255;

/// Where a request goes, besides its route.
pub(super) struct Target {
    /// Whose ledger it is.
    pub(super) tenant_id: TenantId,
    /// The id in the path, if it is well-formed.
    pub(super) id: Option<Uuid>,
    /// What stands at the end of the path of a key: its id.
    pub(super) key_id: String,
}

/// A mutating route: how its command is read, executed and answered.
pub(super) struct Mutation<C, T> {
    /// Its method, path and permission.
    pub(super) route: &'static Route,
    /// Makes the command of what the request says. A body that is absent or blank is `None`.
    pub(super) read: fn(&Target, Option<Json>) -> Result<C, Refusal>,
    /// Executes it.
    pub(super) verb: fn(&mut WriteTx<'_>, Timestamp, C) -> Result<T, Abort<Refusal>>,
    /// The status of success.
    pub(super) status: u16,
    /// The body of success.
    pub(super) write: fn(&T) -> Result<Vec<u8>, Failure>,
    /// When something falls due because of it.
    pub(super) falls_due: fn(&C) -> Option<Timestamp>,
    /// Whether it shuts somebody out, and so goes on below the disk reserve.
    pub(super) frees: fn(&C) -> bool,
}

/// What a mutating request has shown before the writer is entered.
pub(super) struct Entered {
    /// What its key is unique within.
    pub(super) scope: Scope,
    /// What it was.
    pub(super) digest: RequestDigest,
}

/// Serves a mutating request.
pub(super) async fn mutate<C, T>(context: &Context, request: Request, mutation: &Mutation<C, T>) -> Response
where
    C: Send + 'static,
    T: 'static,
{
    answered(try_mutate(context, request, mutation).await)
}

async fn try_mutate<C, T>(context: &Context, request: Request, mutation: &Mutation<C, T>) -> Result<Answer, Refusal>
where
    C: Send + 'static,
    T: 'static,
{
    let received = receive(context, request, mutation.route, BODY_BYTES_MAX).await?;
    let command = received.json.and_then(|json| (mutation.read)(&received.target, json));
    let falls_due = command.as_ref().ok().and_then(mutation.falls_due);
    let frees = command.as_ref().is_ok_and(mutation.frees);
    let (verb, status, write) = (mutation.verb, mutation.status, mutation.write);
    let entered = Arc::clone(&received.entered);
    let work = move |tx: &mut WriteTx<'_>, now| {
        execute(tx, now, &entered, command, |tx, now, command| Ok(write(&verb(tx, now, command)?)?), status)
    };
    let outcome = match (falls_due, frees) {
        (None, false) => context.store.write(Instant::now() + WRITER_TIME, work).await,
        (None, true) => context.store.write_freeing(Instant::now() + WRITER_TIME, work).await,
        // A caller that leaves takes its request's task along, but not the hold nor the need to wake the clock.
        (Some(falls_due), _) => {
            let written = write_and_wake(context.clone(), falls_due, work);
            tokio::spawn(written).await.unwrap_or(Err(Abort::Failed(Failure::OutcomeUnknown)))
        }
    };
    conclude(context, &received.entered, outcome)
}

/// A mutating request that was let in, its body read.
pub(super) struct Received {
    /// Where it goes.
    pub(super) target: Target,
    /// What its answer is remembered under.
    pub(super) entered: Arc<Entered>,
    /// Its body, absent or blank ones as `None`; or what is wrong with it or with the query.
    pub(super) json: Result<Option<Json>, Refusal>,
}

/// Lets a mutating request in, with everything that is checked before the writer is entered.
pub(super) async fn receive(
    context: &Context,
    request: Request,
    route: &'static Route,
    body_bytes_max: usize,
) -> Result<Received, Refusal> {
    let (parts, body) = request.into_parts();
    let tenant_id = authorize(context, &parts.headers, route.permission).await?;
    let key = idempotency_key(&parts.headers)?;
    let bytes = body::read(&parts.headers, body, body_bytes_max, BODY_TIME).await.map_err(body_refusal)?;
    let json = read_json(&bytes)?;
    let query = Query::parse(parts.uri.query());
    let target = target(tenant_id, &parts.uri);
    let entered = Arc::new(Entered {
        scope: Scope { service: Service::Ledger, tenant_id: tenant_id.0, route: route.template(), key },
        digest: digest(route, target.id, &parts.uri, &query, &bytes),
    });
    let json = no_parameters(query).and(json);
    Ok(Received { target, entered, json })
}

/// The answer to a request that the writer has dealt with, or has not taken.
pub(super) fn conclude(
    context: &Context,
    entered: &Entered,
    outcome: Result<Answer, Abort<Refusal>>,
) -> Result<Answer, Refusal> {
    match outcome {
        Ok(answer) => Ok(answer),
        Err(Abort::Refused(refusal)) => Err(refusal),
        Err(Abort::Failed(failure)) => replay_after_failure(context, entered, &failure),
    }
}

/// Writes, and tells the clock if something falls due earlier than anything it knows of.
pub(super) async fn write_and_wake<T: Send + 'static>(
    context: Context,
    falls_due: Timestamp,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
) -> Result<T, Abort<Refusal>> {
    let outcome = context.store.write(Instant::now() + WRITER_TIME, verb).await;
    if outcome.is_ok() && context.sweep.is_news(falls_due) {
        context.clock.wake();
    }
    outcome
}

/// The one transaction of a mutating request.
pub(super) fn execute<C>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    command: Result<C, Refusal>,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp, C) -> Result<Vec<u8>, Abort<Refusal>>,
    status: u16,
) -> Result<Answer, Abort<Refusal>> {
    execute_and(tx, now, entered, command, verb, status, |tx, answer| {
        Ok(idempotency::remember(tx, now, &entered.scope, entered.digest, &answer.stored())?)
    })
}

/// [`execute`] for an answer that carries a secret: it is remembered sealed.
pub(super) fn execute_secret<C>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    command: Result<C, Refusal>,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp, C) -> Result<Vec<u8>, Abort<Refusal>>,
    status: u16,
) -> Result<Answer, Abort<Refusal>> {
    execute_and(tx, now, entered, command, verb, status, |tx, answer| {
        idempotency::remember_secret(tx, now, &entered.scope, entered.digest, &answer.stored()).map_err(|abort| {
            Abort::Failed(match abort {
                Abort::Failed(failure) => failure,
                // Whoever still has a key of an erased tenant is turned away before this.
                Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
            })
        })
    })
}

fn execute_and<C>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    command: Result<C, Refusal>,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp, C) -> Result<Vec<u8>, Abort<Refusal>>,
    status: u16,
    remember: impl FnOnce(&mut WriteTx<'_>, &Answer) -> Result<(), Abort<Refusal>>,
) -> Result<Answer, Abort<Refusal>> {
    match idempotency::lookup(tx, &entered.scope, &entered.digest, now)? {
        Lookup::Replay(stored) => return Ok(Answer::replayed(stored)),
        Lookup::Mismatch => return Err(Refusal::IdempotencyKeyMismatch.into()),
        Lookup::Fresh => {}
    }
    let outcome = match command {
        Ok(command) => tx.savepoint(|tx| verb(tx, now, command)),
        Err(refusal) => Err(Abort::Refused(refusal)),
    };
    let answer = match outcome {
        Ok(body) => Answer::of(status, body),
        Err(Abort::Refused(refusal)) if refusal.is_final() => Answer::refused(&refusal),
        Err(abort) => return Err(abort),
    };
    remember(tx, &answer)?;
    Ok(answer)
}

/// A request that the writer did not take may be a repeat all the same: its answer can be read.
fn replay_after_failure(context: &Context, entered: &Entered, failure: &Failure) -> Result<Answer, Refusal> {
    if matches!(failure, Failure::Busy | Failure::StorageFull | Failure::Stopped) {
        let now = context.clock.now();
        if let Ok(Lookup::Replay(stored)) =
            idempotency::lookup(&context.store.read(), &entered.scope, &entered.digest, now)
        {
            return Ok(Answer::replayed(stored));
        }
    }
    Err(failed(failure))
}

/// Serves a reading request.
pub(super) async fn read(
    context: &Context,
    request: Request,
    route: &Route,
    answer: impl FnOnce(&Snapshot, &Target, &mut Query) -> Result<Vec<u8>, Abort<Refusal>>,
) -> Response {
    let outcome = enter(context, request, route).await.and_then(|(target, mut query)| {
        let body = answer(&context.store.read(), &target, &mut query).map_err(refusal_of)?;
        Ok(Answer::of(200, body))
    });
    answered(outcome)
}

/// Lets a reading request in: who asks, and what its path and query say.
pub(super) async fn enter(context: &Context, request: Request, route: &Route) -> Result<(Target, Query), Refusal> {
    let (parts, _) = request.into_parts();
    let tenant_id = authorize(context, &parts.headers, route.permission).await?;
    let query = Query::parse(parts.uri.query()).map_err(|error| parameter_refusal(&error))?;
    Ok((target(tenant_id, &parts.uri), query))
}

/// The response of an outcome.
pub(super) fn answered(outcome: Result<Answer, Refusal>) -> Response {
    match outcome {
        Ok(answer) => answer.into_response(),
        Err(refusal) => refuse(&refusal),
    }
}

/// What a query that did not succeed is answered with.
pub(super) fn refusal_of(abort: Abort<Refusal>) -> Refusal {
    match abort {
        Abort::Refused(refusal) => refusal,
        Abort::Failed(failure) => failed(&failure),
    }
}

/// Who asks, whether the key allows it, and whether the tenant has calls left.
async fn authorize(context: &Context, headers: &HeaderMap, permission: &str) -> Result<TenantId, Refusal> {
    let caller = context.admit(Service::Ledger, access::authorization(headers), Some(permission)).await;
    let caller = caller.map_err(|reason| match reason {
        NotAdmitted::Refused(refusal) => access_refusal(refusal),
        NotAdmitted::OverQuota(seconds) => Refusal::QuotaExceeded(u32::try_from(seconds).unwrap_or(u32::MAX)),
        NotAdmitted::Store(failure) => failed(&failure),
        NotAdmitted::Unavailable => Refusal::AuthzUnavailable,
        NotAdmitted::CredentialRejected => Refusal::AuthzCredentialRejected,
    })?;
    Ok(TenantId(caller.tenant_id))
}

fn access_refusal(refusal: AuthRefusal) -> Refusal {
    match refusal {
        AuthRefusal::Unauthenticated => Refusal::Unauthenticated,
        AuthRefusal::CredentialExpired => Refusal::CredentialExpired,
        AuthRefusal::TenantNotProvisioned => Refusal::TenantNotProvisioned,
        AuthRefusal::TenantSuspended => Refusal::TenantSuspended,
        AuthRefusal::Forbidden => Refusal::Forbidden,
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<String, Refusal> {
    // An empty key is as good as none.
    if headers.get_all(IDEMPOTENCY_KEY).iter().all(HeaderValue::is_empty) {
        return Err(Refusal::MissingIdempotencyKey);
    }
    match idempotency::request_key(headers, KEY_CHARS_MAX) {
        Ok(key) => key.ok_or(Refusal::MissingIdempotencyKey),
        Err(MalformedKey) => Err(Refusal::InvalidKey("Idempotency-Key is one text of 1 to 255 characters")),
    }
}

/// Depth is the one fault of a body that counts before the replay check; every other waits inside the result.
fn read_json(bytes: &Bytes) -> Result<Result<Option<Json>, Refusal>, Refusal> {
    match json::parse(bytes, JSON_DEPTH) {
        Ok(json) => Ok(Ok(Some(json))),
        Err(JsonError::Empty) => Ok(Ok(None)),
        Err(JsonError::TooDeep) => Err(Refusal::InvalidJsonDepth),
        Err(error) => Ok(Err(input::malformed(&error))),
    }
}

/// The digest of a request. An id counts, not how the path spells it.
fn digest(
    route: &Route,
    id: Option<Uuid>,
    uri: &Uri,
    query: &Result<Query, QueryError>,
    bytes: &Bytes,
) -> RequestDigest {
    let path = match id {
        Some(id) => {
            let id = id.hyphenated().to_string();
            let segments = uri.path().split('/').enumerate();
            let segments = segments.map(|(place, segment)| if place == ID_PLACE { id.as_str() } else { segment });
            Cow::Owned(segments.collect::<Vec<_>>().join("/"))
        }
        None => Cow::Borrowed(uri.path()),
    };
    let canonical = match query {
        Ok(query) => query.canonical(),
        Err(_) => uri.query().unwrap_or_default().to_owned(),
    };
    RequestDigest::of(route.method, &path, &canonical, bytes)
}

fn no_parameters(query: Result<Query, QueryError>) -> Result<(), Refusal> {
    query.and_then(Query::finish).map_err(|error| parameter_refusal(&error))
}

/// Every fault of a query string is an invalid request; the parameter is the field.
pub(super) fn parameter_refusal(error: &QueryError) -> Refusal {
    let field = match error {
        QueryError::Duplicate(name) | QueryError::Missing(name) | QueryError::Invalid { name, .. } => name.clone(),
        QueryError::Unknown(names) => names.join(", "),
        QueryError::Malformed | QueryError::TooMany => String::new(),
    };
    Refusal::field(field, error.to_string())
}

/// A body that has not arrived says nothing about the request: a repeat may fare better, so this is not its last
/// word, and nothing is remembered.
pub(super) fn body_refusal(error: BodyError) -> Refusal {
    match error {
        BodyError::TooLarge => Refusal::PayloadTooLarge,
        BodyError::TimedOut | BodyError::Broken => Refusal::StatementTimeout,
    }
}

/// Where a request goes: the id in `/v1/{things}/{id}`, the key's in `/v1/{things}/{id}/keys/{key_id}`.
fn target(tenant_id: TenantId, uri: &Uri) -> Target {
    let segment = |place| uri.path().split('/').nth(place).and_then(decode_segment);
    let id = segment(ID_PLACE).and_then(|text| parse_uuid(&text));
    Target { tenant_id, id, key_id: segment(KEY_ID_PLACE).unwrap_or_default() }
}

/// What a failure of the store is answered with.
pub(super) fn failed(failure: &Failure) -> Refusal {
    match failure {
        Failure::Busy | Failure::StorageFull => tracing::warn!(%failure, "a request was turned away"),
        _ => tracing::error!(%failure, "a request failed"),
    }
    Refusal::of_failure(failure)
}

/// The edge: so many requests per second from each source address, health excepted.
pub(super) async fn limit_rate(State(context): State<Context>, request: Request, next: Next) -> Response {
    if request.uri().path() == HEALTH.path {
        return next.run(request).await;
    }
    let source = request.extensions().get::<ConnectInfo<std::net::SocketAddr>>().map(|info| info.0.ip());
    // Without an address (a unix socket) everybody is one source.
    let source = source.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED.into());
    match context.edge.check(source, context.clock.pacing_now()) {
        Ok(()) => next.run(request).await,
        Err(wait) => refuse(&Refusal::RateLimited(u32::try_from(wait.0).unwrap_or(u32::MAX))),
    }
}
