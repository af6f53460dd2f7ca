//! Every way runs say no, and the one place that turns it into a status and a stable code.

use quintet_platform::codes;
use quintet_platform::http::query::QueryError;
use quintet_platform::json::{Json, JsonError};
use quintet_platform::recurrence::CronError;
use quintet_platform::service::{Code, Fault, Problem, ServiceRefusal, Verdict};

/// How long a caller is asked to wait for room on the disk, for the writer or for the runner, in seconds.
const RETRY_SECONDS: u64 = 5;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What every service refuses alike.
    Fault(Fault),
    /// The key does not allow this image.
    ImageNotAllowed,
    /// No such run of this tenant.
    NotFound,
    /// The run has not ended.
    NotTerminal,
    /// The run's state does not allow this; says which it is in.
    InvalidState(&'static str),
    /// The run must end before it can be deleted.
    RunActive,
    /// A quota above what the operator allows; which, and how much is allowed.
    AboveCeiling(&'static str, String),
    /// The working hours are not a calendar.
    InvalidWorkingHours(ShiftFault),
    /// The pattern is none.
    InvalidCron(CronFault),
    /// The schedule has no instant at which it fires; which member keeps it from that, and why.
    NeverFires(&'static str, String),
    /// A member that an inline webhook must not have.
    UnknownWebhookKey(String),
    /// The webhook's address is not one that may be called; which member it is in, and why.
    UrlNotAllowed(&'static str, &'static str),
    /// There is no such thing in the tenant; says of what kind.
    NoSuch(&'static str),
    /// It cannot be done as things stand; says why.
    NotNow(&'static str),
    /// There are as many as there may be; the limit's name, and how many.
    LimitReached(&'static str, u64),
    /// All runs of the day are used up, or all that timers and schedules may tell; wait so many seconds.
    DailyQuota(u64),
    /// A metered key has not that much time left: how many seconds it has, and how many were to be charged.
    MeteredQuota(u64, u64),
    /// What is asked for is no graph; which member, and why.
    InvalidGraph(String, String),
    /// More nodes than a workflow may have.
    TooManyNodes(u64),
    /// A node that was to be retried, or one downstream of it, has not ended; which.
    NodeNotTerminal(String),
    /// The node is no gate.
    NotAnApproval,
    /// As many workflows are active as may be.
    WorkflowQuota(u64),
    /// A parameter of a template has no such value; which, and why.
    InvalidParams(String, String),
    /// Another thing of the tenant has this name; says what kind.
    NameTaken(&'static str),
    /// The runner does not answer.
    EngineUnavailable,
}

/// What is wrong with a cron pattern: what stands there, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronFault {
    /// What stands there.
    pub found: String,
    /// What would be right.
    pub expected: String,
    /// All of it as a sentence.
    pub detail: String,
}

impl From<CronError> for Refusal {
    fn from(error: CronError) -> Refusal {
        let detail = error.to_string();
        match error {
            CronError::Invalid { found, expected, .. } => Refusal::InvalidCron(CronFault { found, expected, detail }),
            CronError::NeverFires { .. } => Refusal::NeverFires("cron", detail),
        }
    }
}

/// What is wrong with working hours: where, what stands there, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftFault {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What would be right.
    pub expected: String,
    /// All of it as a sentence.
    pub detail: String,
}

impl quintet_storage::Refusal for Refusal {}

/// Every code that is answered.
pub const CODES: &[Code] = codes! {
    400 "host_missing" "HTTP/1.1 needs one Host header that names a host"
    400 "invalid_graph" "The workflow is no graph: a ref twice, or one that leads nowhere, or a cycle"
    400 "malformed_json" "The body is not JSON"
    400 "too_many_nodes" "The workflow has more nodes than max_nodes_per_workflow"
    400 "unknown_query_parameter" "The query has a parameter that is not known here"
    401 "unauthorized" "A valid API key is required"
    403 "forbidden" "The key may not do this"
    403 "image_not_allowed" "The key does not allow this image; GET /api/v1/usage lists those it allows"
    404 "not_found" "Not found in this tenant"
    405 "method_not_allowed" "The path does not take this method; the header Allow names those it takes"
    408 "request_timeout" "The body did not arrive in time"
    409 "invalid_state" "It is in a state in which this cannot be done"
    409 "limit_reached" "There are as many of these as there may be"
    409 "name_taken" "Another of the tenant has this name"
    409 "node_not_terminal" "The node, or one downstream of it, has not ended"
    409 "not_an_approval" "The node is no approval gate"
    409 "not_terminal" "The run, or the workflow, has not ended"
    409 "run_active" "The run must end before it can be deleted"
    413 "payload_too_large" "The body is larger than allowed"
    415 "unsupported_media_type" "The body must be application/json"
    422 "above_ceiling" "A quota is above what the operator allows"
    422 "idempotency_key_mismatch" "The Idempotency-Key was used for another request"
    422 "invalid_cron" "The cron pattern is none; found and expected say what is wrong"
    422 "invalid_params" "A parameter of the template is missing, unknown, or has a value it cannot have"
    422 "invalid_working_hours" "The working hours are not a shift that opens; line and column say where, found and expected why"
    422 "never_fires" "The schedule would never fire"
    422 "unknown_webhook_key" "The inline webhook has a member that is not known here"
    422 "url_not_allowed" "The webhook's address is not one that may be called"
    422 "validation_failed" "A member of the body or a parameter is missing or has a value it cannot have"
    429 "daily_quota_exceeded" "All runs of the day are used up, or all that timers and schedules may tell; the next day begins at UTC midnight"
    429 "metered_quota_exceeded" "The key has less time left than the run would be charged, its timeout_seconds"
    429 "quota_exceeded" "The tenant has no calls left"
    429 "workflow_quota_exceeded" "As many workflows are active as max_concurrent_workflows"
    500 "internal_error" "The appliance made a mistake"
    503 "authorization_unavailable" "The authorization system could not be asked; nothing was done"
    503 "busy" "The appliance is busy; nothing was done"
    503 "engine_unavailable" "What runs containers does not answer; ask again"
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
        Refusal::Fault(Fault::Shape(vec![Problem::new(name, problem)]))
    }
}

impl ServiceRefusal for Refusal {
    fn verdict(&self) -> Verdict {
        match self {
            Refusal::Fault(fault) => verdict_of_fault(fault),
            Refusal::ImageNotAllowed => Verdict::new(403, "image_not_allowed").problem("image", ""),
            Refusal::NotFound => Verdict::new(404, "not_found").detail("no such run in this tenant"),
            Refusal::NotTerminal => Verdict::new(409, "not_terminal"),
            Refusal::InvalidState(state) => Verdict::new(409, "invalid_state").detail(format!("the run is {state}")),
            Refusal::RunActive => Verdict::new(409, "run_active"),
            Refusal::AboveCeiling(name, most) => {
                Verdict::new(422, "above_ceiling").problem(*name, format!("can be {most} at most"))
            }
            Refusal::InvalidWorkingHours(fault) => Verdict::new(422, "invalid_working_hours")
                .problem("working_hours_tjp", fault.detail.clone())
                .member("line", number(fault.line))
                .member("column", number(fault.column))
                .member("found", fault.found.as_str())
                .member("expected", fault.expected.as_str()),
            Refusal::InvalidCron(fault) => Verdict::new(422, "invalid_cron")
                .problem("cron", fault.detail.clone())
                .member("found", fault.found.as_str())
                .member("expected", fault.expected.as_str()),
            Refusal::NeverFires(field, why) => Verdict::new(422, "never_fires").problem(*field, why.clone()),
            Refusal::UnknownWebhookKey(name) => {
                Verdict::new(422, "unknown_webhook_key").problem(name, "is not known here")
            }
            Refusal::UrlNotAllowed(field, problem) => Verdict::new(422, "url_not_allowed").problem(*field, *problem),
            Refusal::NoSuch(what) => Verdict::new(404, "not_found").detail(*what),
            Refusal::NotNow(why) => Verdict::new(409, "invalid_state").detail(*why),
            Refusal::LimitReached(name, most) => {
                Verdict::new(409, "limit_reached").detail(format!("there are {most} already, which is {name}"))
            }
            Refusal::DailyQuota(seconds) => Verdict::new(429, "daily_quota_exceeded").retry_after(*seconds),
            Refusal::MeteredQuota(left, wanted) => Verdict::new(429, "metered_quota_exceeded")
                .detail(format!("the key has {left} seconds left, and the run would be charged {wanted}")),
            Refusal::InvalidGraph(field, problem) => Verdict::new(400, "invalid_graph").problem(field, problem.clone()),
            Refusal::TooManyNodes(most) => {
                Verdict::new(400, "too_many_nodes").problem("nodes", format!("can be {most} at most"))
            }
            Refusal::NodeNotTerminal(reference) => {
                Verdict::new(409, "node_not_terminal").detail(format!("the node {reference:?} has not ended"))
            }
            Refusal::NotAnApproval => Verdict::new(409, "not_an_approval"),
            Refusal::WorkflowQuota(most) => Verdict::new(429, "workflow_quota_exceeded")
                .detail(format!("{most} workflows are active, which is max_concurrent_workflows")),
            Refusal::InvalidParams(field, problem) => {
                Verdict::new(422, "invalid_params").problem(field, problem.clone())
            }
            Refusal::NameTaken(what) => {
                Verdict::new(409, "name_taken").problem("name", format!("{what} has this name"))
            }
            Refusal::EngineUnavailable => Verdict::new(503, "engine_unavailable").retry_after(RETRY_SECONDS),
        }
    }
}

/// How a fault is answered that every service knows.
fn verdict_of_fault(fault: &Fault) -> Verdict {
    let (status, code) = code_of_fault(fault);
    let verdict = Verdict::new(status, code).about(fault);
    let verdict = match fault {
        Fault::TenantNotProvisioned => verdict.detail("the tenant is not provisioned for runs"),
        Fault::TenantSuspended => verdict.detail("the tenant is suspended"),
        Fault::CredentialExpired => verdict.detail("the API key has expired"),
        Fault::NoSuchPath => verdict.detail("there is no such path"),
        Fault::RateLimited(_) => verdict.detail("too many requests from this address"),
        Fault::KeyInProgress => verdict.detail("a request with this Idempotency-Key is being served"),
        _ => verdict,
    };
    let verdict = match fault.supported() {
        Some(names) => verdict.member("supported", names.iter().map(|name| Json::from(*name)).collect::<Vec<_>>()),
        None => verdict,
    };
    match fault {
        Fault::AuthorizationUnavailable
        | Fault::AppliancesCredentialRejected
        | Fault::Busy
        | Fault::KeyInProgress
        | Fault::DiskReserve
        | Fault::WritingStopped => verdict.retry_after(RETRY_SECONDS),
        _ => verdict,
    }
}

/// The status and code of what every service refuses alike. The listener of runs has no rate of its own: what would be
/// answered there is what comes nearest.
fn code_of_fault(fault: &Fault) -> (u16, &'static str) {
    match fault {
        Fault::HostMissing => (400, "host_missing"),
        Fault::NoSuchPath => (404, "not_found"),
        Fault::MethodNotAllowed => (405, "method_not_allowed"),
        Fault::Unauthenticated | Fault::CredentialExpired => (401, "unauthorized"),
        Fault::TenantNotProvisioned | Fault::TenantSuspended | Fault::Forbidden => (403, "forbidden"),
        Fault::QuotaExceeded(_) | Fault::RateLimited(_) => (429, "quota_exceeded"),
        Fault::AuthorizationUnavailable | Fault::AppliancesCredentialRejected => (503, "authorization_unavailable"),
        Fault::Query { error: QueryError::Unknown(_), .. } => (400, "unknown_query_parameter"),
        // A member named twice: the body is JSON, but says two things.
        Fault::Query { .. }
        | Fault::Shape(_)
        | Fault::Json(JsonError::DuplicateKey { .. })
        | Fault::KeyMissing
        | Fault::KeyMalformed(_) => (422, "validation_failed"),
        Fault::KeyReused => (422, "idempotency_key_mismatch"),
        // All bodies are JSON, and one that breaks off is none.
        Fault::Json(_) | Fault::BodyBroken => (400, "malformed_json"),
        Fault::BodyTooLarge => (413, "payload_too_large"),
        Fault::BodyTimedOut => (408, "request_timeout"),
        Fault::MediaTypeUnsupported => (415, "unsupported_media_type"),
        Fault::Busy | Fault::KeyInProgress => (503, "busy"),
        Fault::DiskReserve => (503, "storage_full"),
        Fault::WritingStopped => (503, "writing_stopped"),
        Fault::OutcomeUnknown => (503, "outcome_unknown"),
        Fault::Unreadable | Fault::Internal => (500, "internal_error"),
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_documented_once() {
        let mut seen: Vec<(u16, &str)> = CODES.iter().map(|known| (known.status, known.code)).collect();
        assert!(seen.is_sorted(), "in order, so that a missing one is seen");
        seen.dedup();
        assert_eq!(seen.len(), CODES.len());
    }
}
