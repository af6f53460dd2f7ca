//! Localization's dialect: problems (RFC 9457), what it demands of requests, and what its endpoints share.

use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use quintet_platform::Foundation;
use quintet_platform::access::{self as credentials, Service, authorization};
use quintet_platform::http::request_id::RequestId;
use quintet_platform::idempotency::KEPT_SECONDS;
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::Limits;
use quintet_platform::service::{
    self, Content, Demands, Dialect, Fault, Interface, PROBLEM, Parameter, Route, Shape, Turns, Verdict, problem,
    problem_schema,
};
use quintet_storage::{Abort, Read, Uuid};
use serde_json::{Map, Value, json};

use crate::access::{self, TEMPLATES, Template, Wanted};
use crate::audit::Actor;
use crate::context::{Context, WRITER_TIME};
use crate::model::TenantId;
use crate::principals::kind_of;
use crate::refusal::{CODES, Refusal, TAG_CODES};

/// A request that was let in.
pub type Call = service::Call<Localization>;
/// How a handler ends.
pub type Answered = service::Answered<Localization>;

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
    /// What its key was found to be.
    pub key: credentials::Caller,
    /// The same, for the audit chain.
    pub actor: Actor,
}

impl Caller {
    /// In which tenant.
    #[must_use]
    pub fn tenant_id(&self) -> TenantId {
        self.actor.tenant_id
    }

    /// Demands a permission.
    ///
    /// # Errors
    /// [`Fault::Forbidden`]
    pub fn demand(&self, read: &impl Read, wanted: Wanted<'_>) -> Result<(), Abort<Refusal>> {
        access::demand(read, &self.key, wanted)
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

    /// Who asks, in which tenant; what it may is for each route to ask.
    async fn admit(context: &Context, _route: &'static Route, parts: &Parts) -> Result<Caller, Refusal> {
        let admitted = context.admit(Service::Localization, authorization(&parts.headers), None).await;
        let key = admitted.map_err(Fault::of_admission)?;
        check_tenant(&key, &parts.headers)?;
        let request_id = parts.extensions.get::<RequestId>().map(|id| id.as_str().to_owned()).unwrap_or_default();
        let actor = Actor {
            tenant_id: TenantId(key.tenant_id),
            kind: kind_of(&context.store.read(), TenantId(key.tenant_id), key.principal_id)
                .map_err(|failure| Fault::of_failure(&failure))?,
            principal_id: key.principal_id,
            request_id,
        };
        Ok(Caller { key, actor })
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
                "name": "L10n-Tenant", "in": "header", "required": true, "schema": Shape::Uuid.schema(),
                "description": "The tenant of the key.",
            }));
        }
    }

    fn guide_appendix() -> String {
        let line = |template: &Template| format!("- {}: {}\n", template.name, template.confers().join(", "));
        format!("\n## Templates of grants\n\n{}", TEMPLATES.iter().map(line).collect::<String>())
    }
}

/// A machine names its tenant, and may name no other.
fn check_tenant(key: &credentials::Caller, headers: &HeaderMap) -> Result<(), Refusal> {
    const NAME: &str = "L10n-Tenant";
    let mut values = headers.get_all(TENANT_HEADER).iter();
    let named = match (values.next(), values.next()) {
        (None, _) => return Err(Refusal::parameter(NAME, "is required")),
        (Some(only), None) => only.to_str().ok().and_then(parse_uuid),
        (Some(_), Some(_)) => None,
    };
    match named {
        None => Err(Refusal::parameter(NAME, "is one UUID")),
        Some(tenant_id) if tenant_id == key.tenant_id => Ok(()),
        Some(_) => Err(Refusal::OtherTenant),
    }
}
