//! The dialect of messaging: keys of its own, agents that act, problems that always have a detail, challenges that answers
//! carry, and what the endpoints of all folders share.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use quintet_platform::access::{Basis, Service, authorization};
use quintet_platform::json::{Json, Limits, to_compact};
use quintet_platform::mcp::ByTool;
use quintet_platform::service::{
    self, Answer, Code, Demands, Dialect, Fault, Interface, PROBLEM, Recheck, Recognized, Route, Turns, Verdict,
    problem, refusal_of,
};
use quintet_platform::{Foundation, NotAdmitted};
use quintet_storage::{Abort, Snapshot, Uuid};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::identity::{Asked, Caller, Named, Scope, admitted, recognized};
use crate::model::AgentKey;
use crate::refusal::{CODES, Refusal};

/// A request that was let in.
pub(crate) type Call = service::Call<Messaging>;
/// How a handler ends.
pub(crate) type Answered = service::Answered<Messaging>;

/// What the types of problems begin with.
const PROBLEM_PREFIX: &str = "urn:messaging:problem:";
/// The largest body, in bytes (6-messaging.md, E4).
pub(crate) const BODY_BYTES_MAX: usize = 37_748_736;
/// The largest body that is read without a turn (6-messaging.md, E4): that of all requests but messages and drafts.
pub(crate) const SMALL_BODY_BYTES_MAX: usize = 1 << 20;
/// How long a body may take, unless it is a large one, which has a pace to keep.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(60);
/// How long a request may wait for the writer.
pub(crate) const WRITER_TIME: Duration = Duration::from_secs(10);
/// How long an answer is remembered under its Idempotency-Key.
const KEPT_SECONDS: i64 = 86_400;

/// As which agent a request acts.
const X_AGENTBUS_AGENT: HeaderName = HeaderName::from_static("x-agentbus-agent");
/// The echo of a challenge.
const X_AGENTBUS_PONG: HeaderName = HeaderName::from_static("x-agentbus-pong");

/// A header field of messaging's own, as it is described.
struct Header {
    name: &'static str,
    /// The route that reads it; `None`: all that let somebody in.
    route: Option<&'static str>,
    about: &'static str,
}

impl Header {
    fn is_read_by(&self, route: &Route) -> bool {
        self.route.map_or(route.wants_key(), |name| name == route.name)
    }
}

const HEADERS: [Header; 4] = [
    Header {
        name: "X-AgentBus-Agent",
        route: None,
        about: "As which agent the request acts; a key that is bound to one alone acts as that one.",
    },
    Header {
        name: "X-AgentBus-Pong",
        route: None,
        about: "The liveness_challenge of an earlier answer, which shows that somebody reads.",
    },
    Header {
        name: "X-AgentBus-Wake-Capable",
        route: Some("stream_events"),
        about: "1 if who reads the stream can start a turn of the agent.",
    },
    Header {
        name: "Last-Event-ID",
        route: Some("stream_events"),
        about: "The last agent_seq that was read; what is behind it is told of at once.",
    },
];

/// What routes say of themselves: an agent must act.
pub(crate) const ACTING: &str = "acting";
/// What routes say of themselves: they are for retired agents, too.
pub(crate) const REVIVING: &str = "reviving";
/// What routes say of themselves: they are for agents that there are not yet, too.
pub(crate) const MAKING: &str = "making";
/// What routes say of themselves: on an encrypted workspace they take what is sealed, and tools seal nothing.
pub(crate) const SEALING: &str = "sealing";
/// What routes say of themselves: they answer with a secret, which is for the key that asked and no other.
pub(crate) const SECRET: &str = "secret";
/// What routes say of themselves: who calls them goes on without an answer, so that neither rates nor quotas are asked.
pub(crate) const VETTING: &str = "vetting";

/// The dialect of messaging.
pub struct Messaging;

impl Dialect for Messaging {
    type Context = Context;
    type Caller = Caller;
    type Refusal = Refusal;

    const SERVICE: Service = Service::Messaging;
    const DEMANDS: Demands = Demands {
        body_bytes_max: SMALL_BODY_BYTES_MAX,
        body_time: BODY_TIME,
        writer_time: WRITER_TIME,
        json: Limits { max_depth: 32 },
        wants_media_type: false,
        key_chars_max: 255,
        key_kept_seconds: KEPT_SECONDS,
        remembers_refusals: false,
    };
    const INTERFACE: Interface = Interface {
        title: "Agent messaging",
        version: "1.0.0",
        description: "Inboxes, rooms, threads and wake-ups for coding agents and people. Branch on the code of a problem; \
            x-error-codes lists every one. /llms.txt is a guide for agents.",
        guide: include_str!("http/guide.md"),
        schemas: &[
            include_str!("http/schemas.json"),
            include_str!("agents/http/schemas.json"),
            include_str!("approvals/http/schemas.json"),
            include_str!("blocks/http/schemas.json"),
            include_str!("claims/http/schemas.json"),
            include_str!("drafts/http/schemas.json"),
            include_str!("inbound/http/schemas.json"),
            include_str!("guard/schemas.json"),
            include_str!("inbox/http/schemas.json"),
            include_str!("invites/schemas.json"),
            include_str!("keys/schemas.json"),
            include_str!("mcp/schemas.json"),
            include_str!("memory/http/schemas.json"),
            include_str!("outbox/schemas.json"),
            include_str!("presence/http/schemas.json"),
            include_str!("reminders/http/schemas.json"),
            include_str!("pubkeys/http/schemas.json"),
            include_str!("rooms/http/schemas.json"),
            include_str!("sending/http/schemas.json"),
            include_str!("threads/http/schemas.json"),
            include_str!("usage/schemas.json"),
            include_str!("webhooks/http/schemas.json"),
        ],
        codes: CODES,
        error: ("application/problem+json", "Problem"),
    };

    const KEY_FORM: &'static str = "ab_sk_...";

    fn foundation(context: &Context) -> &Foundation {
        context
    }

    fn turns(context: &Context) -> Option<&Turns> {
        Some(&context.lookers)
    }

    async fn admit(context: &Context, route: &'static Route, parts: &Parts) -> Result<Caller, Refusal> {
        let pong = text_of(&parts.headers, &X_AGENTBUS_PONG);
        let by_tool = parts.extensions.get::<ByTool>();
        let asked = Asked {
            key: authorization(&parts.headers).map(bearer),
            agent: named(&parts.headers),
            scope: Scope::named(route.permission).unwrap_or(Scope::Admin),
            wants_agent: route.has_mark(ACTING) || by_tool.is_some_and(|tool| tool.is_of_own),
            takes_retired: route.has_mark(REVIVING),
            takes_absent: route.has_mark(MAKING),
        };
        let caller = admitted(&context.store.read(), asked).map_err(refusal_of)?;
        let tenant_id = caller.workspace.tenant_id;
        let is_vetting = route.has_mark(VETTING);
        match context.admit_own(Service::Messaging, tenant_id) {
            Err(NotAdmitted::OverQuota(_)) if is_vetting => {}
            admitted => drop(admitted.map_err(|not| Refusal::from(Fault::of_admission(not)))?),
        }
        if !is_vetting {
            context.pace(&caller.key.id).map_err(|wait| Refusal::RateLimited(wait.0))?;
        }
        if let Ok((agent, _)) = caller.acting() {
            let is_its_own = caller.key.agents.len() == 1;
            if context.attendance.saw(agent, &caller.key.id, pong, is_its_own, context.now()) {
                context.clock.wake();
            }
        }
        // Whoever can seal has the client for it: a tool's words are always plain (6-messaging.md, N3).
        if by_tool.is_some() && route.has_mark(SEALING) && caller.workspace.is_encrypted {
            return Err(Refusal::SealingRequired("text"));
        }
        Ok(caller)
    }

    async fn recognize(context: &Context, parts: &Parts) -> Result<Recognized, Refusal> {
        let text = authorization(&parts.headers).map(bearer);
        let (key, workspace) = recognized(&context.store.read(), text).map_err(refusal_of)?;
        Ok(Recognized { tenant_id: workspace.tenant_id, name: key.only_agent().map(str::to_owned) })
    }

    /// Its keys are its own.
    fn basis(_caller: &Caller) -> Option<Basis> {
        None
    }

    fn recheck(caller: &Caller, route: &'static Route) -> Option<Recheck<Refusal>> {
        let basis = caller.basis(route.has_mark(REVIVING));
        Some(Box::new(move |tx| basis.check(tx)))
    }

    fn recheck_repeat(caller: &Caller, route: &'static Route, read: &Snapshot) -> Result<(), Abort<Refusal>> {
        caller.basis(route.has_mark(REVIVING)).check(read)
    }

    fn tenant_id(caller: &Caller) -> Uuid {
        caller.workspace.tenant_id
    }

    /// A key of an agent's request is its own, whatever others call theirs (6-messaging.md, C6). An answer with a secret, or
    /// to no agent, is repeated to the API key alone that got it: another one may be allowed less. So is that of a route for
    /// which the agent that acts need not be there; it goes by its name, for it may be there when the request is repeated.
    fn key_scope(caller: &Caller, route: &Route, path: &str) -> String {
        let is_making = route.has_mark(MAKING);
        let agent = caller.agent.as_ref().filter(|_| !is_making).map_or(0, |acting| acting.no.0);
        let mut scope = format!("{} {agent} {} {path}", caller.workspace.no.0, route.method.as_str());
        if agent == 0 || route.has_mark(SECRET) {
            scope = format!("{scope} {}", caller.key.id);
        }
        match caller.name.as_ref().filter(|_| is_making) {
            Some(name) => format!("{scope} {name}"),
            None => scope,
        }
    }

    /// A problem whose `detail` says what its `title` does where nothing more is to be said.
    fn write(verdict: &Verdict, request_id: &str) -> (HeaderValue, Vec<u8>) {
        let mut verdict = verdict.clone();
        let says_nothing = verdict.problems.first().is_none_or(|problem| problem.problem.is_empty());
        let known = CODES.iter().find(|known| (known.status, known.code) == (verdict.status, verdict.code));
        if let (true, Some(Code { title, .. })) = (says_nothing, known) {
            verdict.problems = vec![service::Problem::new("", *title)];
        }
        let wait = verdict.retry_after_seconds.map(|seconds| ("retry_after", Json::from(seconds)));
        // Of calls that nothing proves all are answered by the same bytes (6-messaging.md, H2).
        let is_bare = request_id.is_empty() || verdict.code == "invalid_signature";
        let id = if is_bare { None } else { Some(("request_id", Json::from(request_id))) };
        (PROBLEM, problem(PROBLEM_PREFIX, CODES, &verdict, wait.into_iter().chain(id).collect()))
    }

    fn error_schema() -> Value {
        let codes: Vec<&str> = CODES.iter().map(|known| known.code).collect();
        let text = json!({"type": "string"});
        json!({
            "type": "object", "required": ["type", "title", "status", "code", "detail"],
            "properties": {
                "type": {"type": "string", "format": "uri"}, "title": text, "status": {"type": "integer"},
                "code": {"enum": codes}, "detail": text, "request_id": text,
                "field": {"type": "string", "description": "The member or parameter at fault"},
                "errors": {"type": "array", "items": {"type": "object"}, "description": "Each thing that is wrong"},
                "retry_after": {"type": "integer", "description": "After how many seconds a repetition may succeed"},
                "reset_at": text, "blocking_policy": {"type": "object"}, "limit": text, "max": {"type": "integer"},
                "withholding": {"type": "array", "items": {"type": "object"}},
                "not_responsive": {"type": "array", "items": text}, "oldest_seq": {"type": ["integer", "null"]}, "verdict": text,
            },
        })
    }

    fn describe(route: &Route, operation: &mut Map<String, Value>) {
        let Some(Value::Array(parameters)) = operation.get_mut("parameters") else { return };
        let own = HEADERS.iter().filter(|header| header.is_read_by(route));
        parameters.extend(own.map(|header| {
            json!({
                "name": header.name, "in": "header", "required": false,
                "schema": {"type": "string"}, "description": header.about,
            })
        }));
    }

    /// A query can be malformed whatever a route knows of it, and the agent that acts need not be there.
    fn codes_besides(route: &Route) -> Vec<&'static str> {
        match route.wants_key() {
            true => vec![
                "agent_retired",
                "invalid_api_key",
                "key_agent_mismatch",
                "not_found",
                "rate_limited",
                "validation_error",
                "workspace_deleted",
                "workspace_suspended",
            ],
            false => Vec::new(),
        }
    }
}

/// The token of an Authorization header; what is no bearer token is no key either.
fn bearer(header: &str) -> &str {
    let token = header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    token.map_or("", |(_, token)| token.trim())
}

/// The agent that a request names.
fn named(headers: &HeaderMap) -> Named<'_> {
    let mut fields = headers.get_all(&X_AGENTBUS_AGENT).iter();
    let field = match (fields.next(), fields.next()) {
        (None, _) => return Named::Nobody,
        (Some(only), None) => only,
        (Some(_), Some(_)) => return Named::Unclear,
    };
    // An empty one would have an admin's key act as the operator, whichever agent was meant.
    match field.to_str().map(str::trim) {
        Ok("") | Err(_) => Named::Unclear,
        Ok(name) => Named::Agent(name),
    }
}

/// A header field's text, if there is one that has any.
fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    if text.is_empty() { None } else { Some(text) }
}

/// Answers a request, and has the answer carry a challenge where one is due (6-messaging.md, W4).
pub(crate) async fn challenged<F: Future<Output = Answered>>(call: Call, handler: fn(Call) -> F) -> Answered {
    challenged_or(call, handler, None).await
}

/// The same for sends, whose answers say `null` where none is due.
pub(crate) async fn challenged_or_null<F: Future<Output = Answered>>(call: Call, handler: fn(Call) -> F) -> Answered {
    challenged_or(call, handler, Some(Json::Null)).await
}

async fn challenged_or<F: Future<Output = Answered>>(
    call: Call,
    handler: fn(Call) -> F,
    otherwise: Option<Json>,
) -> Answered {
    let context = call.context.clone();
    let asked: Option<AgentKey> = call.caller.acting().ok().map(|(agent, _)| agent);
    let key_id = call.caller.key.id.clone();
    let answer = handler(call).await?;
    if answer.is_replay() || !answer.body().starts_with(b"{") {
        return Ok(answer);
    }
    let challenge = asked.and_then(|agent| context.attendance.challenge(agent, &key_id, context.now()));
    match challenge.map(Json::from).or(otherwise) {
        Some(challenge) => Ok(with_member(answer, "liveness_challenge", &challenge)),
        None => Ok(answer),
    }
}

/// An answer with one more member at the end of its object.
fn with_member(answer: Answer, name: &str, value: &Json) -> Answer {
    let Some(rest) = answer.body().strip_suffix(b"}") else { return answer };
    let separator = if rest == b"{" { "" } else { "," };
    let mut body = rest.to_vec();
    body.extend_from_slice(format!("{separator}\"{name}\":{}}}", to_compact(value)).as_bytes());
    answer.with_body(Bytes::from(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_put_at_the_end() {
        let with = |body: &'static str| {
            let answer = with_member(Answer::json(200, body), "a", &Json::Null);
            String::from_utf8(answer.body().to_vec()).unwrap()
        };
        assert_eq!(with("{}"), r#"{"a":null}"#);
        assert_eq!(with(r#"{"b":{}}"#), r#"{"b":{},"a":null}"#);
        assert_eq!(with("[]"), "[]");
    }

    #[test]
    fn a_key_is_the_token_of_a_bearer() {
        assert_eq!(bearer("Bearer ab_sk_x"), "ab_sk_x");
        assert_eq!(bearer("bearer  ab_sk_x "), "ab_sk_x");
        assert_eq!((bearer("Basic x"), bearer("x")), ("", ""));
    }
}
