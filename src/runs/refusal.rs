//! Every way runs say no, and the one place that turns it into a status and a stable code.

use quintet_platform::http::problem::{Kind, Problem};
use quintet_platform::json::Json;
use quintet_platform::problem_kinds;
use quintet_storage::Failure;

/// How long a caller is asked to wait for room on the disk, for the writer or for the runner, in seconds.
const RETRY_SECONDS: u64 = 5;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The body is no JSON; says where.
    MalformedJson(String),
    /// A query parameter that the route does not know; which, and those it knows.
    UnknownQueryParameter(String, Vec<&'static str>),
    /// No credential, or a malformed, unknown, expired or revoked one.
    Unauthorized,
    /// The caller may not; says why where that is not about permissions.
    Forbidden(&'static str),
    /// The key does not allow this image.
    ImageNotAllowed,
    /// No such path, or no such run of this tenant.
    NotFound,
    /// The path exists, the method does not; the answer carries `Allow`.
    MethodNotAllowed,
    /// The body did not arrive in time.
    RequestTimeout,
    /// The run has not ended.
    NotTerminal,
    /// The run's state does not allow this; says which it is in.
    InvalidState(&'static str),
    /// The run must end before it can be deleted.
    RunActive,
    /// The body is larger than allowed.
    PayloadTooLarge,
    /// A body of another media type.
    UnsupportedMediaType,
    /// A member of the body or a parameter is wrong; which, and how.
    Validation(String, String),
    /// A quota above what the operator allows; which, and how much is allowed.
    AboveCeiling(&'static str, String),
    /// The working hours are not a calendar.
    InvalidWorkingHours(ShiftFault),
    /// A member that an inline webhook must not have.
    UnknownWebhookKey(String),
    /// The webhook's address is not one that may be called; says why.
    UrlNotAllowed(&'static str),
    /// All runs of the day are used up; wait so many seconds.
    DailyQuota(u64),
    /// A metered key has not that much time left: how many seconds it has, and how many were to be charged.
    MeteredQuota(u64, u64),
    /// The tenant has no calls left; wait so many seconds.
    QuotaExceeded(u64),
    /// An external authorization system could not be asked.
    AuthorizationUnavailable,
    /// The runner does not answer.
    EngineUnavailable,
    /// Free disk space is below the reserve; nothing was done.
    StorageFull,
    /// The writer did not get to the request in time, or too many like it are served; nothing was done.
    Busy,
    /// Writing has stopped until a restart; nothing was done.
    WritingStopped,
    /// It may or may not have been done.
    OutcomeUnknown,
    /// A mistake of the appliance.
    InternalError,
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
pub const KINDS: &[Kind] = problem_kinds! { "urn:runs:problem:";
    400 "malformed_json" "The body is not JSON"
    400 "unknown_query_parameter" "The query has a parameter that is not known here"
    401 "unauthorized" "A valid API key is required"
    403 "forbidden" "The key may not do this"
    403 "image_not_allowed" "The key does not allow this image; GET /api/v1/usage lists those it allows"
    404 "not_found" "Not found in this tenant"
    405 "method_not_allowed" "The path does not take this method; the header Allow names those it takes"
    408 "request_timeout" "The body did not arrive in time"
    409 "invalid_state" "The run is in a state in which this cannot be done"
    409 "not_terminal" "The run has not ended"
    409 "run_active" "The run must end before it can be deleted"
    413 "payload_too_large" "The body is larger than allowed"
    415 "unsupported_media_type" "The body must be application/json"
    422 "above_ceiling" "A quota is above what the operator allows"
    422 "invalid_working_hours" "The working hours are not a shift that opens; line and column say where, found and expected why"
    422 "unknown_webhook_key" "The inline webhook has a member that is not known here"
    422 "url_not_allowed" "The webhook's address is not one that may be called"
    422 "validation_failed" "A member of the body or a parameter is missing or has a value it cannot have"
    429 "daily_quota_exceeded" "All runs of the day are used up; the next day begins at UTC midnight"
    429 "metered_quota_exceeded" "The key has less time left than the run would be charged, its timeout_seconds"
    429 "quota_exceeded" "The tenant has no calls left"
    500 "internal_error" "The appliance made a mistake"
    503 "authorization_unavailable" "The authorization system could not be asked; nothing was done"
    503 "busy" "The appliance is busy; nothing was done"
    503 "engine_unavailable" "What runs containers does not answer; nothing was done"
    503 "outcome_unknown" "It may or may not have been done"
    503 "storage_full" "The disk is down to its reserve; nothing was done"
    503 "writing_stopped" "Writing has stopped until a restart; nothing was done"
};

impl Refusal {
    /// A member or parameter that is wrong.
    #[must_use]
    pub fn field(name: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal::Validation(name.into(), problem.into())
    }

    /// What a failure of the store is answered with.
    #[must_use]
    pub fn of_failure(failure: &Failure) -> Refusal {
        match failure {
            Failure::Busy => Refusal::Busy,
            Failure::StorageFull => Refusal::StorageFull,
            Failure::Stopped => Refusal::WritingStopped,
            Failure::OutcomeUnknown => Refusal::OutcomeUnknown,
            Failure::Damaged(_) | Failure::TooLarge | Failure::Panicked | Failure::Io(_) => Refusal::InternalError,
        }
    }

    /// Its status and code.
    fn status_and_code(&self) -> (u16, &'static str) {
        match self {
            Refusal::MalformedJson(_) => (400, "malformed_json"),
            Refusal::UnknownQueryParameter(..) => (400, "unknown_query_parameter"),
            Refusal::Unauthorized => (401, "unauthorized"),
            Refusal::Forbidden(_) => (403, "forbidden"),
            Refusal::ImageNotAllowed => (403, "image_not_allowed"),
            Refusal::NotFound => (404, "not_found"),
            Refusal::MethodNotAllowed => (405, "method_not_allowed"),
            Refusal::RequestTimeout => (408, "request_timeout"),
            Refusal::NotTerminal => (409, "not_terminal"),
            Refusal::InvalidState(_) => (409, "invalid_state"),
            Refusal::RunActive => (409, "run_active"),
            Refusal::PayloadTooLarge => (413, "payload_too_large"),
            Refusal::UnsupportedMediaType => (415, "unsupported_media_type"),
            Refusal::Validation(..) => (422, "validation_failed"),
            Refusal::AboveCeiling(..) => (422, "above_ceiling"),
            Refusal::InvalidWorkingHours(_) => (422, "invalid_working_hours"),
            Refusal::UnknownWebhookKey(_) => (422, "unknown_webhook_key"),
            Refusal::UrlNotAllowed(_) => (422, "url_not_allowed"),
            Refusal::DailyQuota(_) => (429, "daily_quota_exceeded"),
            Refusal::MeteredQuota(..) => (429, "metered_quota_exceeded"),
            Refusal::QuotaExceeded(_) => (429, "quota_exceeded"),
            Refusal::AuthorizationUnavailable => (503, "authorization_unavailable"),
            Refusal::EngineUnavailable => (503, "engine_unavailable"),
            Refusal::StorageFull => (503, "storage_full"),
            Refusal::Busy => (503, "busy"),
            Refusal::WritingStopped => (503, "writing_stopped"),
            Refusal::OutcomeUnknown => (503, "outcome_unknown"),
            Refusal::InternalError => (500, "internal_error"),
        }
    }

    /// The answer, with the id of the request it answers.
    #[must_use]
    pub fn problem(&self, request_id: &str) -> Problem {
        let (status, code) = self.status_and_code();
        let problem = Problem::of(KINDS, status, code);
        let problem = match self {
            Refusal::MalformedJson(detail) => problem.detail(detail.clone()),
            Refusal::UnknownQueryParameter(names, supported) => {
                let supported: Vec<Json> = supported.iter().map(|name| Json::from(*name)).collect();
                problem.detail("is not known here").field(names.clone()).member("supported", supported)
            }
            Refusal::Validation(name, detail) if name.is_empty() => problem.detail(detail.clone()),
            Refusal::Validation(name, detail) => problem.detail(detail.clone()).field(name.clone()),
            Refusal::AboveCeiling(name, most) => problem.detail(format!("can be {most} at most")).field(*name),
            Refusal::InvalidWorkingHours(fault) => problem
                .detail(fault.detail.clone())
                .field("working_hours_tjp")
                .member("line", number(fault.line))
                .member("column", number(fault.column))
                .member("found", fault.found.as_str())
                .member("expected", fault.expected.as_str()),
            Refusal::UnknownWebhookKey(name) => problem.detail("is not known here").field(name.clone()),
            Refusal::UrlNotAllowed(detail) => problem.detail(*detail).field("webhook.url"),
            Refusal::Forbidden("") => problem,
            Refusal::Forbidden(detail) => problem.detail(*detail),
            Refusal::InvalidState(state) => problem.detail(format!("the run is {state}")),
            Refusal::ImageNotAllowed => problem.field("image"),
            Refusal::MeteredQuota(left, wanted) => {
                problem.detail(format!("the key has {left} seconds left, and the run would be charged {wanted}"))
            }
            Refusal::DailyQuota(seconds) | Refusal::QuotaExceeded(seconds) => problem.retry_after(*seconds),
            Refusal::AuthorizationUnavailable
            | Refusal::EngineUnavailable
            | Refusal::StorageFull
            | Refusal::Busy
            | Refusal::WritingStopped => problem.retry_after(RETRY_SECONDS),
            Refusal::Unauthorized
            | Refusal::NotFound
            | Refusal::MethodNotAllowed
            | Refusal::RequestTimeout
            | Refusal::NotTerminal
            | Refusal::RunActive
            | Refusal::PayloadTooLarge
            | Refusal::UnsupportedMediaType
            | Refusal::OutcomeUnknown
            | Refusal::InternalError => problem,
        };
        if request_id.is_empty() { problem } else { problem.member("request_id", request_id) }
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
        let mut seen: Vec<(u16, &str)> = KINDS.iter().map(|kind| (kind.status, kind.code)).collect();
        assert!(seen.is_sorted(), "in order, so that a missing one is seen");
        seen.dedup();
        assert_eq!(seen.len(), KINDS.len());
    }

    #[test]
    fn a_problem_names_its_request_and_what_is_supported() {
        let refusal = Refusal::UnknownQueryParameter("statee".into(), vec!["state", "tag"]);
        let body = refusal.problem("r1").body();
        assert!(body.contains(r#""field":"statee","supported":["state","tag"],"request_id":"r1""#), "{body}");
        assert!(body.contains("urn:runs:problem:unknown_query_parameter"), "{body}");
    }
}
