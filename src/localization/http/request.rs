//! The way of a request: who asks, in which tenant, what is asked; and the one transaction of what changes something.
//!
//! What changes something is checked in one order: credential, tenant header, parameters, Idempotency-Key, size of the
//! body, its media type, its shape, replay; then in the order of each route. Only successes are remembered under an
//! Idempotency-Key: a refusal has changed nothing, and the same request may be tried again once its reason is gone.

use std::time::{Duration, Instant};

use axum::extract::Request;
use bytes::Bytes;
use http::header::IF_MATCH;
use http::{HeaderMap, HeaderName, Uri};
use quintet_platform::NotAdmitted;
use quintet_platform::access::{self, AuthRefusal, Caller, Service};
use quintet_platform::http::body::{self, BodyError};
use quintet_platform::http::etag::TagList;
use quintet_platform::http::query::{Query, QueryError, decode_segment};
use quintet_platform::http::request_id::RequestId;
use quintet_platform::idempotency::{self, Lookup, MalformedKey, RequestDigest, Scope};
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{self, Json, JsonError, Limits};
use quintet_storage::{Abort, Failure, Snapshot, Timestamp, Uuid, WriteTx};

use super::answer::Answer;
use super::routes::{KeyRule, Route};
use crate::access::{self as permitting, Wanted};
use crate::audit::{Actor, ActorKind};
use crate::context::{Context, WRITER_TIME};
use crate::in_flight::Guard;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::Expected;

/// `L10n-Tenant`
const TENANT_HEADER: HeaderName = HeaderName::from_static("l10n-tenant");
/// How long a body of JSON may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The deepest JSON; the root is level 1.
const JSON_DEPTH: Limits = Limits { max_depth: 64 };
/// The longest Idempotency-Key, in characters.
pub(super) const KEY_CHARS_MAX: usize = 200;

/// A request whose sender and tenant are known.
pub(super) struct Asked {
    /// Who asks.
    pub(super) caller: Caller,
    /// In which tenant.
    pub(super) tenant_id: TenantId,
    /// What the route's template has in braces, decoded, in order.
    pub(super) places: Vec<String>,
    /// What the query says, as far as nobody has taken it.
    pub(super) query: Query,
    /// Its header fields.
    pub(super) headers: HeaderMap,
    /// The request's id.
    request_id: String,
    route: &'static Route,
    path: String,
    canonical_query: String,
}

/// A request that changes something, its body read.
pub(super) struct Arrived {
    /// What it shares with those that only read.
    pub(super) asked: Asked,
    /// The body; empty if there is none.
    body: Bytes,
    key: Option<String>,
}

/// A body that is read right where the request is served: larger ones are read aside.
const SMALL_BODY_BYTES: usize = 32 * 1024;

/// What a key is unique within, and what the request was.
#[derive(Clone)]
struct Entered {
    scope: Scope,
    digest: RequestDigest,
}

/// A request that is neither a repeat nor beside one like it: it may go on.
pub(super) struct Going {
    entered: Option<Entered>,
    _guard: Option<Guard>,
    etag_letter: &'static str,
}

/// What becomes of a request once its key was looked up.
pub(super) enum Begun {
    /// It was answered before.
    Replay(Answer),
    /// It goes on.
    Going(Going),
}

/// Lets a request in: who asks, in which tenant, and what its path and query say.
pub(super) async fn ask(context: &Context, request: Request, route: &'static Route) -> Result<Asked, Refusal> {
    Ok(ask_parts(context, request, route).await?.0)
}

/// [`ask`], with the body still unread.
pub(super) async fn ask_parts(
    context: &Context,
    request: Request,
    route: &'static Route,
) -> Result<(Asked, axum::body::Body), Refusal> {
    let (parts, body) = request.into_parts();
    let caller = authenticate(context, &parts.headers).await?;
    check_tenant(&caller, &parts.headers)?;
    let query = Query::parse(parts.uri.query()).map_err(|error| parameter_refusal(&error))?;
    let request_id = parts.extensions.get::<RequestId>().map(|id| id.as_str().to_owned()).unwrap_or_default();
    let asked = Asked {
        tenant_id: TenantId(caller.tenant_id),
        caller,
        places: places(route, &parts.uri),
        canonical_query: query.canonical(),
        query,
        headers: parts.headers,
        request_id,
        route,
        path: parts.uri.path().to_owned(),
    };
    Ok((asked, body))
}

/// Lets a request in that changes something and has no parameters, with its body.
pub(super) async fn arrive(
    context: &Context,
    request: Request,
    route: &'static Route,
    body_bytes_max: usize,
) -> Result<Arrived, Refusal> {
    let (mut asked, body) = ask_parts(context, request, route).await?;
    asked.end_query()?;
    let key = asked.idempotency_key()?;
    let body = body::read(&asked.headers, body, body_bytes_max, BODY_TIME).await.map_err(|error| match error {
        BodyError::TooLarge => Refusal::PayloadTooLarge,
        BodyError::TimedOut | BodyError::Broken => Refusal::RequestTimeout,
    })?;
    if !body.is_empty() && !body::is_json(&asked.headers) {
        return Err(Refusal::UnsupportedMediaType);
    }
    Ok(Arrived { asked, body, key })
}

impl Asked {
    /// Nothing may be left of the query.
    pub(super) fn end_query(&mut self) -> Result<(), Refusal> {
        std::mem::take(&mut self.query).finish().map_err(|error| parameter_refusal(&error))
    }

    /// An id of the path. A malformed one names nothing.
    pub(super) fn id(&self, place: usize) -> Result<Uuid, Refusal> {
        self.places.get(place).and_then(|text| parse_uuid(text)).ok_or(Refusal::NotFound)
    }

    /// A text of the path.
    pub(super) fn text(&self, place: usize) -> &str {
        self.places.get(place).map_or("", String::as_str)
    }

    /// Who acts, for the audit chain.
    pub(super) fn actor(&self) -> Actor {
        Actor {
            tenant_id: self.tenant_id,
            kind: ActorKind::ServiceAccount,
            principal_id: self.caller.principal_id,
            request_id: self.request_id.clone(),
        }
    }

    /// Demands a permission.
    pub(super) fn demand(&self, read: &Snapshot, wanted: Wanted<'_>) -> Result<(), Refusal> {
        permitting::demand(read, &self.caller, wanted).map_err(refusal_of)
    }

    /// What `If-Match` says.
    pub(super) fn expected(&self) -> Expected {
        match TagList::of(&self.headers, &IF_MATCH) {
            TagList::Absent | TagList::Any => Expected::Unsaid,
            TagList::Malformed => Expected::Tags(Vec::new()),
            TagList::Tags(tags) => Expected::Tags(tags),
        }
    }

    /// The Idempotency-Key, as far as the route wants one.
    pub(super) fn idempotency_key(&self) -> Result<Option<String>, Refusal> {
        const NAME: &str = "Idempotency-Key";
        let key = idempotency::request_key(&self.headers, KEY_CHARS_MAX)
            .map_err(|MalformedKey| Refusal::parameter(NAME, "is one text of 1 to 200 characters"))?;
        match (self.route.key, key) {
            (KeyRule::Required, None) => Err(Refusal::parameter(NAME, "is required")),
            (_, key) => Ok(key),
        }
    }

    /// The query, and the state that a change is meant for: with another If-Match it is another request.
    fn asked_for(&self) -> String {
        let conditions = self.headers.get_all(IF_MATCH).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let conditions: Vec<_> = conditions.filter(|_| !self.route.etag_letter.is_empty()).collect();
        format!("{}\n{}", self.canonical_query, conditions.join(","))
    }

    /// What makes the digest of the request, from its body.
    pub(super) fn digester(&self) -> impl FnOnce(&[u8]) -> RequestDigest + Send + 'static {
        let (method, path, asked_for) = (self.route.method, self.path.clone(), self.asked_for());
        move |body| RequestDigest::of(method, &path, &asked_for, body)
    }

    /// Looks the key up, if there is one: a repeat is answered as before, one beside it is turned away.
    pub(super) fn begin(
        &self,
        context: &Context,
        key: Option<String>,
        digest: RequestDigest,
    ) -> Result<Begun, Refusal> {
        let etag_letter = self.route.etag_letter;
        let Some(key) = key else { return Ok(Begun::Going(Going { entered: None, _guard: None, etag_letter })) };
        let entered = Entered {
            scope: Scope {
                service: Service::Localization,
                tenant_id: self.tenant_id.0,
                // A key is unique whatever the route: on another one it is another request, which its digest tells.
                within: String::new(),
                // One principal's keys are nothing to another: a repeat is answered before permissions are looked at.
                key: format!("{} {key}", self.caller.principal_id),
            },
            digest,
        };
        let now = context.clock.now();
        let lookup = |read: &Snapshot| idempotency::lookup(read, &entered.scope, &entered.digest, now);
        match lookup(&context.store.read()).map_err(|failure| failed(&failure))? {
            Lookup::Replay(stored) => return Ok(Begun::Replay(Answer::replayed(stored, etag_letter))),
            Lookup::Mismatch => return Err(Refusal::IdempotencyKeyReused),
            Lookup::Fresh => {}
        }
        let guard = context.in_flight.enter(entered.scope.tenant_id, &entered.scope.key, entered.digest)?;
        Ok(Begun::Going(Going { entered: Some(entered), _guard: Some(guard), etag_letter }))
    }
}

impl Arrived {
    /// The body as a command, and the request's digest.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        context: &Context,
        read: fn(Json) -> Result<T, Refusal>,
    ) -> Result<(T, RequestDigest), Refusal> {
        let body = self.body.clone();
        let digest = self.asked.digester();
        let work = move || Ok((read(parse(&body)?)?, digest(&body)));
        if self.body.len() <= SMALL_BODY_BYTES {
            return work();
        }
        context.aside(move |_| work().map_err(Abort::Refused)).await.map_err(refusal_of)
    }

    /// [`Asked::begin`] with the body that was read.
    pub(super) fn begin(&self, context: &Context, digest: RequestDigest) -> Result<Begun, Refusal> {
        self.asked.begin(context, self.key.clone(), digest)
    }
}

/// A body as JSON.
fn parse(body: &[u8]) -> Result<Json, Refusal> {
    json::parse(body, JSON_DEPTH).map_err(|error| {
        // Names come from the caller, and answers do not repeat what came in.
        Refusal::MalformedJson(match error {
            JsonError::DuplicateKey { .. } => "a JSON object names a member twice".to_owned(),
            error => error.to_string(),
        })
    })
}

impl Going {
    /// The one transaction: what the verb does, and the answer under its key.
    pub(super) async fn write(
        self,
        context: &Context,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Answer, Abort<Refusal>> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        let written = self.try_write(context, |tx, now| verb(tx, now).map(Some)).await?;
        written.ok_or(Refusal::InternalError)
    }

    /// [`Going::write`] for a verb that may find, before it has written anything, that what it was given is out of
    /// date: `None`, and nothing is remembered.
    pub(super) async fn try_write(
        &self,
        context: &Context,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Option<Answer>, Abort<Refusal>> + Send + 'static,
    ) -> Result<Option<Answer>, Refusal> {
        let (entered, etag_letter) = (self.entered.clone(), self.etag_letter);
        let work = move |tx: &mut WriteTx<'_>, now| {
            let Some(entered) = entered else { return verb(tx, now) };
            // A repeat that was looked up before its first was answered, and let in after: the writer knows better.
            match idempotency::lookup(tx, &entered.scope, &entered.digest, now)? {
                Lookup::Replay(stored) => return Ok(Some(Answer::replayed(stored, etag_letter))),
                Lookup::Mismatch => return Err(Refusal::IdempotencyKeyReused.into()),
                Lookup::Fresh => {}
            }
            let Some(answer) = verb(tx, now)? else { return Ok(None) };
            idempotency::remember(tx, now, &entered.scope, entered.digest, &answer.stored())?;
            Ok(Some(answer))
        };
        context.store.write(Instant::now() + WRITER_TIME, work).await.map_err(refusal_of)
    }
}

/// What an abort is answered with.
pub(super) fn refusal_of(abort: Abort<Refusal>) -> Refusal {
    match abort {
        Abort::Refused(refusal) => refusal,
        Abort::Failed(failure) => failed(&failure),
    }
}

/// What a failure of the store is answered with.
pub(super) fn failed(failure: &Failure) -> Refusal {
    match failure {
        Failure::Busy | Failure::StorageFull => tracing::warn!(%failure, "a request was turned away"),
        _ => tracing::error!(%failure, "a request failed"),
    }
    Refusal::of_failure(failure)
}

/// Who asks, and whether the tenant has calls left.
async fn authenticate(context: &Context, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let caller = context.admit(Service::Localization, access::authorization(headers), None).await;
    caller.map_err(|reason| match reason {
        NotAdmitted::Refused(AuthRefusal::Unauthenticated | AuthRefusal::CredentialExpired) => Refusal::Unauthenticated,
        NotAdmitted::Refused(AuthRefusal::TenantNotProvisioned) => {
            Refusal::Forbidden("the tenant is not provisioned for localization")
        }
        NotAdmitted::Refused(AuthRefusal::TenantSuspended) => Refusal::Forbidden("the tenant is suspended"),
        NotAdmitted::Refused(AuthRefusal::Forbidden) => Refusal::Forbidden(""),
        NotAdmitted::OverQuota(seconds) => Refusal::QuotaExceeded(seconds),
        NotAdmitted::Store(failure) => failed(&failure),
        NotAdmitted::Unavailable | NotAdmitted::CredentialRejected => Refusal::AuthorizationUnavailable,
    })
}

/// A machine names its tenant, and may name no other.
fn check_tenant(caller: &Caller, headers: &HeaderMap) -> Result<(), Refusal> {
    const NAME: &str = "L10n-Tenant";
    let mut values = headers.get_all(TENANT_HEADER).iter();
    let named = match (values.next(), values.next()) {
        (None, _) => return Err(Refusal::parameter(NAME, "is required")),
        (Some(only), None) => only.to_str().ok().and_then(parse_uuid),
        (Some(_), Some(_)) => None,
    };
    match named {
        None => Err(Refusal::parameter(NAME, "is one UUID")),
        Some(tenant_id) if tenant_id == caller.tenant_id => Ok(()),
        Some(_) => Err(Refusal::Forbidden("the credential is another tenant's")),
    }
}

/// What a path has where its template has braces.
fn places(route: &Route, uri: &Uri) -> Vec<String> {
    let pairs = route.path.split('/').zip(uri.path().split('/'));
    let places = pairs.filter(|(template, _)| template.starts_with('{'));
    places.map(|(_, segment)| decode_segment(segment).unwrap_or_default()).collect()
}

/// Every fault of a query string is a wrong parameter.
pub(super) fn parameter_refusal(error: &QueryError) -> Refusal {
    match error {
        QueryError::Unknown(names) => Refusal::UnknownParameter(names.join(", ")),
        QueryError::Duplicate(name) => Refusal::parameter(name.clone(), "occurs more than once"),
        QueryError::Missing(name) => Refusal::parameter(name.clone(), "is required"),
        QueryError::Invalid { name, expected } => Refusal::parameter(name.clone(), format!("must be {expected}")),
        QueryError::Malformed | QueryError::TooMany => Refusal::parameter("", error.to_string()),
    }
}
