//! The dialect of runs: problems that always have a detail and the request's id, what is demanded of requests, and what
//! the endpoints of all folders share.

use std::time::Duration;

use http::HeaderValue;
use http::request::Parts;
use quintet_platform::access::{self, Basis, Service, authorization};
use quintet_platform::idempotency::KEPT_SECONDS;
use quintet_platform::json::{Json, Limits};
use quintet_platform::service::{
    self, Code, Demands, Dialect, Fault, Interface, PROBLEM, Recheck, Route, ServiceRefusal as _, Turns, Verdict,
    problem,
};
use quintet_platform::vouched::Vouched;
use quintet_platform::{Foundation, NotAdmitted};
use quintet_storage::{Abort, Uuid};
use serde_json::{Value, json};

use crate::context::Context;
use crate::model::TenantId;
use crate::refusal::{CODES, Refusal};

/// A request that was let in.
pub(crate) type Call = service::Call<Runs>;
/// How a handler ends.
pub(crate) type Answered = service::Answered<Runs>;

/// What the types of problems begin with.
const PROBLEM_PREFIX: &str = "urn:runs:problem:";
/// The largest body, in bytes: command and environment of 512 KiB, escaped as JSON.
pub(crate) const BODY_BYTES_MAX: usize = 2 << 20;
/// How long a request may wait for the writer.
pub(crate) const WRITER_TIME: Duration = Duration::from_secs(10);

/// Who calls: what its key was found to be.
#[derive(Clone)]
pub struct Caller {
    key: access::Caller,
    /// A member at the console, if it is one: nothing that it has then is a key.
    vouched: Option<Vouched>,
}

impl std::ops::Deref for Caller {
    type Target = access::Caller;

    fn deref(&self) -> &access::Caller {
        &self.key
    }
}

/// The dialect of runs.
pub struct Runs;

impl Dialect for Runs {
    type Context = Context;
    type Caller = Caller;
    type Refusal = Refusal;

    const SERVICE: Service = Service::Runs;
    const DEMANDS: Demands = Demands {
        body_bytes_max: BODY_BYTES_MAX,
        body_time: Duration::from_secs(30),
        writer_time: WRITER_TIME,
        json: Limits { max_depth: 16 },
        wants_media_type: true,
        key_chars_max: 255,
        key_kept_seconds: KEPT_SECONDS,
        remembers_refusals: false,
    };
    const INTERFACE: Interface = Interface {
        title: "Container runs",
        version: "2.0.0",
        description: "Runs a container image with a command, with limits, and tells what became of it. Branch on the \
            code of a problem; x-error-codes lists every one. /llms.txt is a guide for agents.",
        guide: include_str!("http/guide.md"),
        schemas: &[
            include_str!("http/schemas.json"),
            include_str!("containers/http/schemas.json"),
            include_str!("tenant/schemas.json"),
            include_str!("usage/schemas.json"),
            include_str!("webhooks/http/schemas.json"),
            include_str!("timers/http/schemas.json"),
            include_str!("schedules/http/schemas.json"),
            include_str!("workflows/http/schemas.json"),
            include_str!("templates/http/schemas.json"),
            include_str!("mcp/schemas.json"),
        ],
        codes: CODES,
        error: ("application/problem+json", "Problem"),
    };

    fn foundation(context: &Context) -> &Foundation {
        context
    }

    fn turns(context: &Context) -> Option<&Turns> {
        Some(&context.lookers)
    }

    async fn admit(context: &Context, route: &'static Route, parts: &Parts) -> Result<Caller, Refusal> {
        let (permission, vouched) = (Some(route.permission), parts.extensions.get::<Vouched>().cloned());
        let key = match &vouched {
            Some(vouched) => vouched.admit(&context.store.read(), Service::Runs, permission).map_err(NotAdmitted::from),
            None => context.admit(Service::Runs, authorization(&parts.headers), permission).await,
        };
        Ok(Caller { key: key.map_err(Fault::of_admission)?, vouched })
    }

    /// A member whose session ended, or who may no more, changes nothing.
    fn recheck(caller: &Caller, route: &'static Route) -> Option<Recheck<Refusal>> {
        let vouched = caller.vouched.clone()?;
        Some(Box::new(move |tx| {
            vouched.check(tx, Service::Runs, Some(route.permission)).map_err(|abort| match abort {
                Abort::Refused(refusal) => Abort::Refused(Fault::of_admission(NotAdmitted::Refused(refusal)).into()),
                Abort::Failed(failure) => Abort::Failed(failure),
            })
        }))
    }

    fn basis(caller: &Caller) -> Option<Basis> {
        Some(Basis::of(Service::Runs, caller))
    }

    fn tenant_id(caller: &Caller) -> Uuid {
        caller.tenant_id
    }

    /// A problem whose `detail` says what its `title` does where nothing more is to be said.
    fn write(verdict: &Verdict, request_id: &str) -> (HeaderValue, Vec<u8>) {
        let mut verdict = verdict.clone();
        let says_nothing = verdict.problems.first().is_none_or(|problem| problem.problem.is_empty());
        let known = CODES.iter().find(|known| (known.status, known.code) == (verdict.status, verdict.code));
        if let (true, Some(Code { title, .. })) = (says_nothing, known) {
            let field = verdict.problems.pop().map_or_else(String::new, |problem| problem.field);
            verdict.problems = vec![service::Problem::new(field, *title)];
        }
        let further = if request_id.is_empty() { Vec::new() } else { vec![("request_id", Json::from(request_id))] };
        (PROBLEM, problem(PROBLEM_PREFIX, CODES, &verdict, further))
    }

    fn error_schema() -> Value {
        let codes: Vec<&str> = CODES.iter().map(|known| known.code).collect();
        let text = json!({"type": "string"});
        json!({
            "type": "object", "required": ["type", "title", "status", "code", "detail", "request_id"],
            "properties": {
                "type": {"type": "string", "format": "uri"}, "title": text, "status": {"type": "integer"},
                "code": {"enum": codes}, "detail": text, "request_id": text,
                "field": {"type": "string", "description": "The member or parameter at fault"},
                "supported": {"type": "array", "items": text, "description": "The parameters that are known here"},
                "line": {"type": "integer"}, "column": {"type": "integer"}, "found": text, "expected": text,
            },
        })
    }

    /// A query can be malformed whatever a route knows of it, and what a path names need not be there.
    fn codes_besides(route: &Route) -> Vec<&'static str> {
        let mut codes = Vec::new();
        if route.wants_key() {
            codes.push(Refusal::from(Fault::parameter("", "")).verdict().code);
        }
        if !route.segments.is_empty() {
            codes.push(Refusal::NotFound.verdict().code);
        }
        codes
    }
}

/// In which tenant a caller acts.
pub(crate) fn tenant_of(call: &Call) -> TenantId {
    TenantId(call.caller.tenant_id)
}
