//! Localization's dialect: problems (RFC 9457), what it demands of requests, and what its endpoints share.

use std::time::Duration;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use quintet_platform::Foundation;
use quintet_platform::access::{self as credentials, Basis, Service, authorization};
use quintet_platform::http::cookie::{Cookie, cookie};
use quintet_platform::http::request_id::RequestId;
use quintet_platform::idempotency::KEPT_SECONDS;
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::Limits;
use quintet_platform::service::{
    self, Content, Demands, Dialect, Fault, Interface, PROBLEM, Parameter, Recheck, Route, Shape, Turns, Verdict,
    problem, problem_schema,
};
use quintet_platform::sessions::{Door, is_there};
use quintet_platform::vouched::Vouched;
use quintet_storage::{Abort, Read, Snapshot, Timestamp, Uuid};
use serde_json::{Map, Value, json};

use crate::access::{Permits, TEMPLATES, Template, Wanted};
use crate::audit::{Actor, ActorKind};
use crate::context::{Context, WRITER_TIME};
use crate::identity::{Identity, SESSION_COOKIE};
use crate::model::TenantId;
use crate::principals::kind_of;
use crate::refusal::{CODES, Refusal, TAG_CODES};

/// A request that was let in.
pub type Call = service::Call<Localization>;
/// How a handler ends.
pub type Answered = service::Answered<Localization>;

/// Does work to its end, though its caller leave in the middle.
pub async fn to_its_end(work: impl Future<Output = Answered> + Send + 'static) -> Answered {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(Refusal::from(Fault::Internal).into()))
}

/// `limit` of localization's lists.
pub const LIMIT: Parameter = service::limit(50, 500);
/// The mark of a route that needs the language core.
pub const CORE: &str = "core";
/// The mark of a route that is given the tag of a locale, which may be none.
pub const TAGGED: &str = "tag";
/// `L10n-Tenant`
const TENANT_HEADER: HeaderName = HeaderName::from_static("l10n-tenant");

/// Who calls.
#[derive(Clone)]
pub struct Caller {
    /// What its key was found to be; of a session: whose it is, in which tenant.
    pub key: credentials::Caller,
    /// The same, for the audit chain.
    pub actor: Actor,
    /// The session, if it is a person with a cookie.
    pub session_id: Option<Uuid>,
    /// What it was permitted so far, which is demanded again where something is changed.
    permits: Permits,
}

impl Caller {
    /// In which tenant.
    #[must_use]
    pub fn tenant_id(&self) -> TenantId {
        self.actor.tenant_id
    }

    /// Demands a permission; once more in each transaction of the request.
    ///
    /// # Errors
    /// [`Fault::Forbidden`]
    pub fn demand(&self, read: &impl Read, wanted: Wanted<'_>) -> Result<(), Abort<Refusal>> {
        self.demand_any(read, &[wanted])
    }

    /// Demands any of some permissions, then and now.
    ///
    /// # Errors
    /// [`Fault::Forbidden`]
    pub fn demand_any(&self, read: &impl Read, wanted: &[Wanted<'_>]) -> Result<(), Abort<Refusal>> {
        self.permits.demand(read, &self.key, wanted)
    }

    /// Demands that it would be let in once more, and what it was permitted: whoever takes an answer slowly may have lost
    /// both by now.
    ///
    /// # Errors
    /// [`Fault::Unauthenticated`], [`Fault::Forbidden`]; the store's.
    pub fn demand_again(&self, read: &impl Read, now: Timestamp) -> Result<(), Abort<Refusal>> {
        Basis::of(Service::Localization, &self.key).check(read, now).map_err(|abort| match abort {
            Abort::Refused(_) => Abort::Refused(Fault::Unauthenticated.into()),
            Abort::Failed(failure) => Abort::Failed(failure),
        })?;
        check_session(read, self.session_id)?;
        self.permits.demand_again(read, &self.key)
    }
}

/// Localization's dialect.
pub struct Localization;

impl Dialect for Localization {
    type Context = Context;
    type Caller = Caller;
    type Refusal = Refusal;

    const SERVICE: Service = Service::Localization;
    const DEMANDS: Demands = Demands {
        body_bytes_max: 256 * 1024,
        body_time: Duration::from_secs(30),
        writer_time: WRITER_TIME,
        json: Limits { max_depth: 64 },
        wants_media_type: true,
        key_chars_max: 200,
        key_kept_seconds: KEPT_SECONDS,
        remembers_refusals: false,
    };
    const INTERFACE: Interface = Interface {
        title: "Localization",
        version: "0.1.0-p1",
        description: "String files that come back byte for byte, and their translations. Branch on the code of a \
            problem; x-error-codes lists every one. /llms.txt is a guide for agents.",
        guide: include_str!("guide.md"),
        schemas: &[
            include_str!("schemas.json"),
            include_str!("../spaces/schemas.json"),
            include_str!("../grants/schemas.json"),
            include_str!("../accounts/schemas.json"),
            include_str!("../proof/schemas.json"),
            include_str!("../sign_in/schemas.json"),
            include_str!("../content/schemas.json"),
            include_str!("../figures/schemas.json"),
            include_str!("../memory/schemas.json"),
            include_str!("../exchange/schemas.json"),
            include_str!("../review/schemas.json"),
            include_str!("../terms/schemas.json"),
            include_str!("../translate/schemas.json"),
            include_str!("../releases/schemas.json"),
            include_str!("../approvals/schemas.json"),
            include_str!("../licences/schemas.json"),
            include_str!("../settlements/schemas.json"),
            include_str!("../webhooks/schemas.json"),
        ],
        codes: CODES,
        error: ("application/problem+json", "Problem"),
    };

    fn foundation(context: &Context) -> &Foundation {
        context
    }

    fn turns(context: &Context) -> Option<&Turns> {
        Some(&context.asides)
    }

    /// Who asks, in which tenant; what it may is for each route to ask. A bearer credential outweighs a cookie (localization,
    /// N5).
    async fn admit(context: &Context, _route: &'static Route, parts: &Parts) -> Result<Caller, Refusal> {
        let request_id = parts.extensions.get::<RequestId>().map(|id| id.as_str().to_owned()).unwrap_or_default();
        if let Some(vouched) = parts.extensions.get::<Vouched>() {
            let read = context.store.read();
            let admitted = vouched.admit(&read, Service::Localization, None);
            let key = admitted.map_err(|abort| Fault::of_admission(abort.into()))?;
            return Ok(person(context, key, vouched.session_id(), request_id));
        }
        if let Some((identity, token)) = session_token(context, &parts.headers) {
            return admit_session(context, identity, token, parts, request_id);
        }
        let admitted = context.admit(Service::Localization, authorization(&parts.headers), None).await;
        let key = admitted.map_err(Fault::of_admission)?;
        match named_tenant(&parts.headers)? {
            None => return Err(Refusal::parameter(TENANT_NAME, "is required")),
            Some(tenant_id) => check_tenant(tenant_id, key.tenant_id)?,
        }
        let actor = Actor {
            tenant_id: TenantId(key.tenant_id),
            kind: kind_of(&context.store.read(), TenantId(key.tenant_id), key.principal_id)
                .map_err(|failure| Fault::of_failure(&failure))?,
            principal_id: key.principal_id,
            request_id,
            uid: None,
        };
        Ok(Caller { key, actor, session_id: None, permits: Permits::new(context.shelf.clone()) })
    }

    /// A session stands on its tenant, and on the instant at which it ends, as a key does.
    fn basis(caller: &Caller) -> Option<Basis> {
        Some(Basis::of(Service::Localization, &caller.key))
    }

    /// A session that was ended while the body arrived lets nothing be changed any more, nor does a permission that was taken.
    fn recheck(caller: &Caller, _route: &'static Route) -> Option<Recheck<Refusal>> {
        let Caller { key, session_id, permits, .. } = caller.clone();
        Some(Box::new(move |tx| {
            check_session(tx, session_id)?;
            permits.demand_again(tx, &key)
        }))
    }

    /// Nor is it told what was answered before; permissions are not looked at for that.
    fn recheck_repeat(caller: &Caller, _route: &'static Route, read: &Snapshot) -> Result<(), Abort<Refusal>> {
        check_session(read, caller.session_id)
    }

    fn tenant_id(caller: &Caller) -> Uuid {
        caller.tenant_id().0
    }

    /// A key is its principal's, whatever the route: on another one it is another request. One principal's keys are
    /// nothing to another, for a repeat is answered before permissions are looked at.
    fn key_scope(caller: &Caller, _route: &Route, _path: &str) -> String {
        caller.key.principal_id.to_string()
    }

    fn write(verdict: &Verdict, _request_id: &str) -> (HeaderValue, Vec<u8>) {
        (PROBLEM, problem("urn:l10n:problem:", CODES, verdict, Vec::new()))
    }

    fn error_schema() -> Value {
        let further = json!({
            "line": {"type": "integer"}, "column": {"type": "integer"},
            "checks": {"type": "array", "items": {"$ref": "#/components/schemas/QaCheck"}},
            "units": {"type": "array", "maxItems": 1000, "items": {"$ref": "#/components/schemas/RefusedUnit"}},
        });
        problem_schema(CODES, further)
    }

    fn codes_besides(route: &Route) -> Vec<&'static str> {
        let mut codes = Vec::new();
        if !route.permission.is_empty() {
            codes.push("invalid_parameter");
        }
        if !route.permission.is_empty() && route.is_change() {
            codes.push("origin_refused");
        }
        if !route.segments.is_empty() {
            codes.push("not_found");
        }
        if matches!(route.body, Content::Json(_)) {
            codes.extend(["invalid_body", "unknown_field"]);
        }
        if route.has_mark(TAGGED) {
            codes.extend(TAG_CODES);
        }
        if route.has_mark(CORE) {
            codes.push("language_core_unavailable");
        }
        codes
    }

    fn describe(route: &Route, operation: &mut Map<String, Value>) {
        let Some(Value::Array(parameters)) = operation.get_mut("parameters") else { return };
        if !route.permission.is_empty() {
            parameters.push(json!({
                "name": TENANT_NAME, "in": "header", "required": false, "schema": Shape::Uuid.schema(),
                "description": "The tenant of the key, with which it is required. Of a session it may only confirm the tenant.",
            }));
        }
    }

    fn guide_appendix() -> String {
        let line = |template: &Template| format!("- {}: {}\n", template.name, template.confers().join(", "));
        format!("\n## Templates of grants\n\n{}", TEMPLATES.iter().map(line).collect::<String>())
    }
}

/// Whether the session of a caller is still there, if it has one.
fn check_session(read: &impl Read, session_id: Option<Uuid>) -> Result<(), Abort<Refusal>> {
    match session_id {
        Some(session_id) if !is_there(read, session_id)? => Err(Refusal::Fault(Fault::Unauthenticated).into()),
        _ => Ok(()),
    }
}

/// What a browser brings of its session, where it counts: without a bearer credential, and where people sign in at all.
/// Several such cookies are none of anybody's.
fn session_token<'a>(context: &'a Context, headers: &'a HeaderMap) -> Option<(&'a Identity, &'a str)> {
    let identity = context.identity.as_ref().filter(|_| !has_bearer(headers))?;
    match cookie(headers, SESSION_COOKIE) {
        Cookie::Absent => None,
        Cookie::One(token) => Some((identity, token)),
        Cookie::Unclear => Some((identity, "")),
    }
}

/// Whether a request brings a bearer credential, of whatever worth (RFC 6750, 2.1): a proxy's `Basic` is none.
fn has_bearer(headers: &HeaderMap) -> bool {
    let scheme =
        |field: &HeaderValue| field.as_bytes().split(|byte| *byte == b' ').next().map(<[u8]>::to_ascii_lowercase);
    headers.get_all(AUTHORIZATION).iter().any(|field| scheme(field).as_deref() == Some(b"bearer"))
}

/// The session that is still there; then, for whatever may change something, that a page of the service asks for it; then the
/// tenant, which may be named to confirm it (localization, O1 and N5).
fn admit_session(
    context: &Context,
    identity: &Identity,
    token: &str,
    parts: &Parts,
    request_id: String,
) -> Result<Caller, Refusal> {
    let admitted = context.admit_session(Service::Localization, Door::Localization, token);
    let (session, root_tenant_id) = admitted.map_err(Fault::of_admission)?;
    let only_reads = parts.method == Method::GET || parts.method == Method::HEAD;
    if !only_reads && !identity.is_own_page(&parts.headers) {
        return Err(Refusal::OriginRefused);
    }
    if let Some(tenant_id) = named_tenant(&parts.headers)? {
        check_tenant(tenant_id, session.tenant_id)?;
    }
    let key = credentials::Caller {
        tenant_id: session.tenant_id,
        root_tenant_id,
        principal_id: session.principal_id,
        key_id: String::new(),
        permissions: Vec::new(),
        expires_at: Some(session.ends_at),
    };
    Ok(person(context, key, session.session_id, request_id))
}

/// A member with a session.
fn person(context: &Context, key: credentials::Caller, session_id: Uuid, request_id: String) -> Caller {
    let (tenant_id, principal_id) = (TenantId(key.tenant_id), key.principal_id);
    let actor = Actor { tenant_id, kind: ActorKind::Member, principal_id, request_id, uid: None };
    Caller { key, actor, session_id: Some(session_id), permits: Permits::new(context.shelf.clone()) }
}

const TENANT_NAME: &str = "L10n-Tenant";

/// The tenant that a request names.
fn named_tenant(headers: &HeaderMap) -> Result<Option<Uuid>, Refusal> {
    let mut values = headers.get_all(TENANT_HEADER).iter();
    let named = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(only), None) => only.to_str().ok().and_then(parse_uuid),
        (Some(_), Some(_)) => None,
    };
    named.map(Some).ok_or_else(|| Refusal::parameter(TENANT_NAME, "is one UUID"))
}

/// Nobody may name another tenant than the credential's.
fn check_tenant(named: Uuid, own: Uuid) -> Result<(), Refusal> {
    if named == own { Ok(()) } else { Err(Refusal::OtherTenant) }
}
