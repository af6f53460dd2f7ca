//! Every way messaging says no, and the one place that turns it into a status and a stable code (6-messaging.md, C8).

use quintet_platform::codes;
use quintet_platform::json::{Json, JsonError};
use quintet_platform::service::{Code, Fault, Problem, ServiceRefusal, Verdict};

/// How long a caller is asked to wait for room on the disk or for the writer, in seconds.
const RETRY_SECONDS: u64 = 5;

/// Something wrong with one recipient, or one place of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// What was typed, or where in the payload.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

/// An agent that does not take mail now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withholding {
    /// Its name.
    pub agent: String,
    /// What it has declared.
    pub availability: &'static str,
    /// Until when, as text; `None`: until it says otherwise.
    pub until: Option<String>,
}

/// A daily allowance that is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedUp {
    /// Its name.
    pub limit: &'static str,
    /// How much it is.
    pub max: u64,
    /// How much is used.
    pub used: u64,
    /// When it begins anew, as text.
    pub reset_at: String,
    /// The same in seconds from now.
    pub seconds: u64,
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What every service refuses alike.
    Fault(Fault),
    /// The Authorization header holds no key of this service.
    InvalidApiKey,
    /// A join token that is unknown, used or over.
    InvalidInvite,
    /// Nothing proves a call of an inbound endpoint, or it was here before.
    InvalidSignature,
    /// The agent has an inbound endpoint.
    InboundExists,
    /// The key, or the agent, may not; says why.
    Denied(&'static str),
    /// The key is bound to other agents.
    KeyAgentMismatch(String),
    /// Which agent a request acts as cannot be told.
    AgentUnclear,
    /// The workspace, or its tenant, is suspended.
    Suspended,
    /// The workspace is deleted.
    WorkspaceDeleted,
    /// There is no such thing, or it is not for the caller; says what.
    NotFound(String),
    /// The acting agent is retired.
    AgentRetired(String),
    /// Recipients withhold mail, and the sender wanted them to take it now.
    RecipientUnavailable(Vec<Withholding>),
    /// Recipients do not respond, and the sender wanted them to.
    RecipientNotResponsive(Vec<String>),
    /// Another agent has this name.
    NameTaken(String),
    /// Nobody approves this kind.
    ApprovalsNotConfigured(String),
    /// The approval has its verdict, which is named.
    AlreadyDecided(&'static str),
    /// As many of these as there may be; which limit, and how much it is.
    LimitReached(&'static str, u64),
    /// The memory is full; the oldest entry.
    MemoryFull(Option<u64>),
    /// One entry is too long; how long it may be, in bytes.
    MemoryEntryTooLarge(u64),
    /// Something is larger than it may be; which, and how large it may be, in bytes.
    TooLarge(&'static str, u64),
    /// What is sent with `fire_and_forget` is larger than an event may be; how large that is, in bytes.
    EventTooLarge(u64),
    /// Members of the body that are wrong.
    Invalid(Vec<Problem>),
    /// Recipients that there are none of; every bad one.
    UnknownRecipient(Vec<Bad>),
    /// Tag expressions that match nobody.
    UnmatchedCapability(Vec<Bad>),
    /// Recipients that have blocked the sender.
    Blocked(Vec<Bad>),
    /// More recipients than a message may have; how many it may.
    TooManyRecipients(u64),
    /// The workspace is encrypted, and this is not sealed; which member.
    SealingRequired(&'static str),
    /// The payload does not fit a room's schema.
    PayloadInvalid(Vec<Bad>),
    /// Whether it fits was not looked at: rooms or schemas changed again and again while it was.
    PayloadUnjudged,
    /// An address outside cannot be written to; says why.
    ExternalMailRefused(&'static str),
    /// There is no way out for mail.
    ExternalMailUnavailable,
    /// A daily allowance is used up.
    QuotaExceeded(UsedUp),
    /// Too many requests by this key; wait so many seconds.
    RateLimited(u64),
}

impl quintet_storage::Refusal for Refusal {}

/// Every code that is answered.
pub const CODES: &[Code] = codes! {
    400 "host_missing" "HTTP/1.1 needs one Host header that names a host"
    400 "malformed_json" "The body is not JSON, or names a member twice"
    401 "invalid_api_key" "The key is malformed, unknown or revoked"
    401 "invalid_invite" "The join token is unknown, used or over"
    401 "invalid_signature" "The call of an inbound endpoint is not proved, or not now"
    401 "unauthenticated" "A key is required: Authorization: Bearer ab_sk_…"
    403 "key_agent_mismatch" "The key is bound to other agents"
    403 "permission_denied" "The key, or the agent that acts, may not do this"
    403 "workspace_suspended" "The workspace, or its tenant, is suspended"
    404 "not_found" "Not found, or not for this agent"
    405 "method_not_allowed" "The path does not take this method; the header Allow names those it takes"
    408 "request_timeout" "The body did not arrive in time"
    409 "already_decided" "The approval has its verdict, or its time is over; nothing was changed"
    409 "approvals_not_configured" "Nobody approves this kind; the operator sets kinds"
    409 "inbound_exists" "The agent has an inbound endpoint; rotate its secret, or delete it"
    409 "limit_reached" "There are as many of these as there may be"
    409 "memory_full" "The agent's memory is full; remove entries first"
    409 "name_taken" "Another agent has this name"
    409 "recipient_not_responsive" "A recipient does not respond, and the message was not to wait"
    409 "recipient_unavailable" "A recipient withholds its mail, and the message was not to wait"
    410 "agent_retired" "The agent that acts is retired; registering revives it"
    410 "workspace_deleted" "The workspace is deleted"
    413 "memory_entry_too_large" "The entry is longer than one may be"
    413 "payload_too_large" "The body, or a part of it, is larger than allowed"
    422 "blocked_by_recipient" "A recipient has blocked the sender; nothing was accepted"
    422 "external_mail_refused" "Mail from or to the outside is refused here"
    422 "external_mail_unavailable" "The appliance has no way out for mail"
    422 "idempotency_mismatch" "The Idempotency-Key was used for another request"
    422 "payload_invalid" "The payload does not fit the schema of a room that is addressed"
    422 "sealing_required" "The workspace is encrypted: bodies and attachments must arrive sealed"
    422 "too_many_recipients" "The message has more recipients than one may have"
    422 "unknown_recipient" "A recipient is unknown; errors names every one; nothing was accepted"
    422 "unmatched_capability" "A tag expression matches no active agent; nothing was accepted"
    422 "validation_error" "A member of the body or a parameter is missing or has a value it cannot have"
    429 "quota_exceeded" "The allowance is used up; retry_after and reset_at say until when"
    429 "rate_limited" "Too many requests by this key"
    500 "internal_error" "The appliance made a mistake"
    503 "busy" "The appliance is busy; nothing was done"
    503 "outcome_unknown" "It may or may not have been done"
    503 "storage_full" "The disk is down to its reserve; nothing was done"
    503 "writing_stopped" "Writing has stopped until a restart; nothing was done"
};

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

impl Refusal {
    /// A member or parameter that is wrong.
    #[must_use]
    pub fn field(name: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal::Invalid(vec![Problem::new(name, problem)])
    }
}

impl ServiceRefusal for Refusal {
    fn verdict(&self) -> Verdict {
        match self {
            Refusal::Fault(fault) => verdict_of_fault(fault),
            Refusal::InvalidApiKey => Verdict::new(401, "invalid_api_key"),
            Refusal::InvalidInvite => Verdict::new(401, "invalid_invite"),
            Refusal::InvalidSignature => Verdict::new(401, "invalid_signature"),
            Refusal::InboundExists => Verdict::new(409, "inbound_exists"),
            Refusal::Denied(why) => Verdict::new(403, "permission_denied").detail(*why),
            Refusal::KeyAgentMismatch(name) => {
                Verdict::new(403, "key_agent_mismatch").detail(format!("the key is not bound to the agent {name}"))
            }
            Refusal::AgentUnclear => Verdict::new(403, "key_agent_mismatch")
                .detail("X-AgentBus-Agent must be there once, and be the name of an agent"),
            Refusal::Suspended => Verdict::new(403, "workspace_suspended"),
            Refusal::WorkspaceDeleted => Verdict::new(410, "workspace_deleted"),
            Refusal::NotFound(what) => Verdict::new(404, "not_found").detail(format!("there is no {what}")),
            Refusal::AgentRetired(name) => {
                Verdict::new(410, "agent_retired").detail(format!("the agent {name} is retired"))
            }
            Refusal::RecipientUnavailable(all) => unavailable(all),
            Refusal::RecipientNotResponsive(names) => Verdict::new(409, "recipient_not_responsive")
                .detail(format!("not responsive: {}", names.join(", ")))
                .member("not_responsive", texts(names)),
            Refusal::NameTaken(name) => {
                Verdict::new(409, "name_taken").problem("name", format!("another agent is called {name}"))
            }
            Refusal::ApprovalsNotConfigured(kind) => Verdict::new(409, "approvals_not_configured")
                .detail(format!("nobody approves kind {kind}; the operator sets kinds, and generic is always there")),
            Refusal::AlreadyDecided(status) => Verdict::new(409, "already_decided")
                .detail(format!("the approval is {status} already; nothing was changed"))
                .member("verdict", *status),
            Refusal::LimitReached(limit, max) => Verdict::new(409, "limit_reached")
                .detail(format!("there are {max} already, as many as {limit} may be"))
                .member("limit", *limit)
                .member("max", *max),
            Refusal::MemoryFull(oldest) => Verdict::new(409, "memory_full").member("oldest_seq", *oldest),
            Refusal::MemoryEntryTooLarge(max) => {
                Verdict::new(413, "memory_entry_too_large").problem("text", format!("can have {max} bytes at most"))
            }
            Refusal::TooLarge(field, max) => {
                Verdict::new(413, "payload_too_large").problem(*field, format!("{field} can have {max} bytes at most"))
            }
            Refusal::EventTooLarge(max) => event_too_large(*max),
            Refusal::Invalid(problems) => invalid(problems),
            Refusal::UnknownRecipient(all) => bad(422, "unknown_recipient", all, "recipient"),
            Refusal::UnmatchedCapability(all) => bad(422, "unmatched_capability", all, "recipient"),
            Refusal::Blocked(all) => bad(422, "blocked_by_recipient", all, "recipient"),
            Refusal::TooManyRecipients(max) => {
                Verdict::new(422, "too_many_recipients").problem("to", format!("{max} recipients at most, cc included"))
            }
            Refusal::SealingRequired(field) => Verdict::new(422, "sealing_required")
                .problem(*field, format!("{field} must arrive sealed, or not at all")),
            Refusal::PayloadInvalid(all) => bad(422, "payload_invalid", all, "path"),
            Refusal::PayloadUnjudged => verdict_of_fault(&Fault::Busy)
                .detail("the rooms, or their schemas, change while the payload is held against them"),
            Refusal::ExternalMailRefused(why) => Verdict::new(422, "external_mail_refused").detail(*why),
            Refusal::ExternalMailUnavailable => Verdict::new(422, "external_mail_unavailable"),
            Refusal::QuotaExceeded(used_up) => quota_exceeded(used_up),
            Refusal::RateLimited(seconds) => Verdict::new(429, "rate_limited").retry_after(*seconds),
        }
    }
}

fn event_too_large(max: u64) -> Verdict {
    Verdict::new(413, "payload_too_large")
        .detail(format!("what is sent with fire_and_forget can have {max} bytes at most as it is told to streams"))
}

fn texts(all: &[String]) -> Vec<Json> {
    all.iter().map(|text| Json::from(text.as_str())).collect()
}

fn unavailable(all: &[Withholding]) -> Verdict {
    let names: Vec<&str> = all.iter().map(|withholding| withholding.agent.as_str()).collect();
    let told = all.iter().map(|Withholding { agent, availability, until }| {
        let until = until.as_deref().map(Json::from);
        Json::object([
            ("agent", Json::from(agent.as_str())),
            ("availability", Json::from(*availability)),
            ("until", until.into()),
        ])
    });
    Verdict::new(409, "recipient_unavailable")
        .detail(format!("not taking mail now: {}", names.join(", ")))
        .member("withholding", told.collect::<Vec<_>>())
}

/// Several things that are wrong: each in `errors`, the first in `detail`.
fn bad(status: u16, code: &'static str, all: &[Bad], name: &'static str) -> Verdict {
    let told = all.iter().map(|Bad { at, message }| {
        Json::object([
            (name, Json::from(at.as_str())),
            ("code", Json::from(code)),
            ("message", Json::from(message.as_str())),
        ])
    });
    let told: Vec<Json> = told.collect();
    let detail = all.iter().map(|bad| format!("{}: {}", bad.at, bad.message)).collect::<Vec<_>>().join("; ");
    Verdict::new(status, code).detail(detail).member("errors", told)
}

/// Members and parameters that are wrong: `errors` names each by its path.
fn invalid(problems: &[Problem]) -> Verdict {
    let told: Vec<Json> = problems
        .iter()
        .map(|Problem { field, problem }| {
            Json::object([("field", Json::from(field.as_str())), ("message", Json::from(problem.as_str()))])
        })
        .collect();
    let first = problems.first().map(|Problem { field, problem }| match field.as_str() {
        "" => problem.clone(),
        field => format!("{field} {problem}"),
    });
    let verdict = Verdict::new(422, "validation_error").member("errors", told);
    match first {
        Some(detail) => verdict.detail(detail),
        None => verdict,
    }
}

fn quota_exceeded(used_up: &UsedUp) -> Verdict {
    let UsedUp { limit, max, used, reset_at, seconds } = used_up;
    let policy = [("policy_name", Json::from(*limit)), ("limit", Json::from(*max)), ("used", Json::from(*used))];
    Verdict::new(429, "quota_exceeded")
        .detail(format!("{limit} is {max}, and {used} are used; it begins anew at {reset_at}"))
        .member("reset_at", reset_at.as_str())
        .member("blocking_policy", Json::object(policy))
        .retry_after(*seconds)
}

/// How a fault is answered that every service knows.
fn verdict_of_fault(fault: &Fault) -> Verdict {
    let (status, code) = code_of_fault(fault);
    if code == "validation_error" {
        return invalid(&fault.problems());
    }
    let verdict = Verdict::new(status, code).about(fault);
    let verdict = match fault {
        Fault::TenantNotProvisioned => verdict.detail("the tenant is not provisioned for messaging"),
        Fault::NoSuchPath => verdict.detail("there is no such path"),
        Fault::KeyInProgress => verdict.detail("a request with this Idempotency-Key is being served"),
        _ => verdict,
    };
    match fault {
        Fault::Busy | Fault::KeyInProgress | Fault::DiskReserve | Fault::WritingStopped => {
            verdict.retry_after(RETRY_SECONDS)
        }
        _ => verdict,
    }
}

/// The status and code of what every service refuses alike. Keys are this service's own, so that nobody else is asked for
/// them: what is said of an authorization system comes as near as it can.
fn code_of_fault(fault: &Fault) -> (u16, &'static str) {
    match fault {
        Fault::HostMissing => (400, "host_missing"),
        Fault::NoSuchPath => (404, "not_found"),
        Fault::MethodNotAllowed => (405, "method_not_allowed"),
        Fault::Unauthenticated => (401, "unauthenticated"),
        Fault::CredentialExpired => (401, "invalid_api_key"),
        Fault::TenantNotProvisioned | Fault::Forbidden => (403, "permission_denied"),
        Fault::TenantSuspended => (403, "workspace_suspended"),
        Fault::QuotaExceeded(_) => (429, "quota_exceeded"),
        Fault::RateLimited(_) => (429, "rate_limited"),
        Fault::Query { .. } | Fault::Shape(_) | Fault::KeyMissing | Fault::KeyMalformed(_) => (422, "validation_error"),
        Fault::KeyReused => (422, "idempotency_mismatch"),
        Fault::Json(JsonError::TooDeep | JsonError::TooManyValues | JsonError::NumberTooLong) => {
            (422, "validation_error")
        }
        // All bodies are JSON, and one that breaks off is none.
        Fault::Json(_) | Fault::BodyBroken | Fault::MediaTypeUnsupported => (400, "malformed_json"),
        Fault::BodyTooLarge => (413, "payload_too_large"),
        Fault::BodyTimedOut => (408, "request_timeout"),
        Fault::AuthorizationUnavailable | Fault::AppliancesCredentialRejected | Fault::Busy | Fault::KeyInProgress => {
            (503, "busy")
        }
        Fault::DiskReserve => (503, "storage_full"),
        Fault::WritingStopped => (503, "writing_stopped"),
        Fault::OutcomeUnknown => (503, "outcome_unknown"),
        Fault::Unreadable | Fault::Internal => (500, "internal_error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_documented_once_and_every_fault_has_one() {
        let mut seen: Vec<(u16, &str)> = CODES.iter().map(|known| (known.status, known.code)).collect();
        assert!(seen.is_sorted(), "in order, so that a missing one is seen");
        seen.dedup();
        assert_eq!(seen.len(), CODES.len());
        for (name, fault) in Fault::one_of_each() {
            let verdict = Refusal::from(fault).verdict();
            assert!(seen.contains(&(verdict.status, verdict.code)), "{name}");
        }
    }
}
