//! The ledger's dialect: its envelope for errors, what it demands of requests, and what its endpoints share.

use std::time::Duration;

use http::HeaderValue;
use http::request::Parts;
use quintet_platform::access::{Basis, Service, authorization};
use quintet_platform::idempotency::KEPT_SECONDS;
use quintet_platform::json::{Json, Limits, to_compact};
use quintet_platform::service::{
    self, Answer, CURSOR as ANY_CURSOR, Demands, Dialect, Fault, Interface, JSON, Parameter, Route, Segment, Shape,
    Turns, Verdict,
};
use quintet_platform::vouched::Vouched;
use quintet_platform::{Foundation, NotAdmitted};
use quintet_storage::{Abort, Failure, Snapshot, Uuid};
use serde_json::{Value, json};

use super::context::Context;
use crate::explain::{CODES, EXPLANATIONS, Explanation, explain};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// A request that was let in.
pub(super) type Call = service::Call<Ledger>;
/// How a handler ends.
pub(super) type Answered = service::Answered<Ledger>;

/// `limit` and `cursor` of the ledger's lists.
pub(super) const LIMIT: Parameter = service::limit(50, 1000);
pub(super) const CURSOR: Parameter = ANY_CURSOR;
/// The account that a path names.
pub(super) const ACCOUNT: Segment = Segment::new("account_id", Shape::Uuid).written("id");
/// The longest Idempotency-Key, in characters.
pub(super) const KEY_CHARS_MAX: usize = 255;

/// Who calls.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// In which tenant.
    pub(super) tenant_id: TenantId,
    basis: Basis,
}

/// The ledger's dialect.
pub struct Ledger;

impl Dialect for Ledger {
    type Context = Context;
    type Caller = Caller;
    type Refusal = Refusal;

    const SERVICE: Service = Service::Ledger;
    const DEMANDS: Demands = Demands {
        body_bytes_max: 64 * 1024,
        body_time: Duration::from_secs(30),
        writer_time: Duration::from_secs(5),
        json: Limits { max_depth: 64 },
        wants_media_type: false,
        key_chars_max: KEY_CHARS_MAX,
        key_kept_seconds: KEPT_SECONDS,
        remembers_refusals: true,
    };
    const INTERFACE: Interface = Interface {
        title: "Ledger",
        version: env!("CARGO_PKG_VERSION"),
        description: "A multi-tenant double-entry ledger. Money is a decimal string, never a JSON number. Branch on \
            error.code; x-error-codes explains every code. /llms.txt is a guide for agents.",
        guide: include_str!("guide.md"),
        schemas: &[include_str!("schemas.json")],
        codes: CODES,
        error: ("application/json", "Error"),
    };

    fn foundation(context: &Context) -> &Foundation {
        context
    }

    fn turns(context: &Context) -> Option<&Turns> {
        Some(&context.turns)
    }

    async fn admit(context: &Context, route: &'static Route, parts: &Parts) -> Result<Caller, Refusal> {
        let permission = Some(route.permission);
        let caller = match parts.extensions.get::<Vouched>() {
            // The console reads the ledger, and never writes it (8-console.md, "Who may what").
            Some(_) if route.is_change() => return Err(Fault::Forbidden.into()),
            Some(vouched) => {
                vouched.admit(&context.store.read(), Service::Ledger, permission).map_err(NotAdmitted::from)
            }
            None => context.admit(Service::Ledger, authorization(&parts.headers), permission).await,
        };
        let caller = caller.map_err(Fault::of_admission)?;
        Ok(Caller { tenant_id: TenantId(caller.tenant_id), basis: Basis::of(Service::Ledger, &caller) })
    }

    /// Every route is bounded for each address ([`super::routes`]).
    fn codes_besides(_route: &Route) -> Vec<&'static str> {
        vec!["RATE_LIMITED"]
    }

    fn basis(caller: &Caller) -> Option<Basis> {
        Some(caller.basis)
    }

    fn tenant_id(caller: &Caller) -> Uuid {
        caller.tenant_id.0
    }

    /// `{error: {code, message, details}}`
    fn write(verdict: &Verdict, _request_id: &str) -> (HeaderValue, Vec<u8>) {
        let known = EXPLANATIONS.iter().find(|known| (known.status, known.code) == (verdict.status, verdict.code));
        let message = known.map_or("", |known| known.message);
        let mut error = vec![("code", Json::from(verdict.code)), ("message", Json::from(message))];
        if !verdict.members.is_empty() {
            error.push(("details", Json::object(verdict.members.iter().cloned())));
        }
        (JSON, to_compact(&Json::object([("error", Json::object(error))])).into_bytes())
    }

    fn error_schema() -> Value {
        let codes: Vec<&str> = EXPLANATIONS.iter().map(|known| known.code).collect();
        json!({
            "type": "object", "required": ["error"], "additionalProperties": false,
            "properties": {"error": {
                "type": "object", "required": ["code", "message"], "additionalProperties": false,
                "properties": {
                    "code": {"enum": codes}, "message": {"type": "string"},
                    "details": {"type": "object", "description": "What the code is about; its members depend on it."},
                },
            }},
        })
    }

    fn told_codes() -> Vec<Value> {
        let told = |known: &Explanation| {
            json!({
                "status": known.status, "code": known.code, "transient": known.is_transient, "arises": known.arises,
                "cause": known.cause, "cure": known.cure,
            })
        };
        EXPLANATIONS.iter().map(told).collect()
    }

    fn code_line(status: u16, code: &str, title: &str) -> String {
        let known = explain(code).filter(|known| known.status == status);
        let (cure, is_transient) = known.map_or(("", false), |known| (known.cure, known.is_transient));
        let kind = if is_transient { ", transient" } else { "" };
        format!("{status} {code}{kind}: {title} Cure: {cure}")
    }
}

/// What is answered from many rows, read when it is the tenant's turn.
pub(super) async fn answer_in_turn(
    call: &Call,
    read: impl FnOnce(&Snapshot, TenantId) -> Result<Vec<u8>, Abort<Refusal>> + Send + 'static,
) -> Answered {
    let (snapshot, tenant_id) = (call.snapshot(), call.caller.tenant_id);
    let body = call.in_turn(&call.context.turns, move || read(&snapshot, tenant_id)).await?;
    Ok(Answer::json(200, body))
}

/// The answer to what a verb did.
pub(super) fn of_verb<T>(
    status: u16,
    done: Result<T, Abort<Refusal>>,
    write: impl FnOnce(&T) -> Result<Vec<u8>, Failure>,
) -> Result<Answer, Abort<Refusal>> {
    Ok(Answer::json(status, write(&done?)?))
}
