//! Every way localization says no, and the one place that turns it into a status and a stable code.

use quintet_platform::codes;
use quintet_platform::http::etag::ETag;
use quintet_platform::http::query::QueryError;
use quintet_platform::json::Json;
use quintet_platform::service::{Code, Fault, ServiceRefusal, Verdict};
use quintet_storage::Uuid;

use ::http::HeaderValue;
use ::http::header::{CONTENT_RANGE, ETAG};

/// How long a caller is asked to wait for the language core, in seconds: until its next check.
const CORE_RETRY_SECONDS: u64 = 60;
/// How long a caller is asked to wait for the AI engine, in seconds (localization, O4).
const AI_RETRY_SECONDS: u64 = 30;
/// How long a caller is asked to wait for the decision service, in seconds (localization, O4).
const DECISION_RETRY_SECONDS: u64 = 30;
/// How long a caller is asked to wait for the identity provider, in seconds (localization, O4).
const IDENTITY_RETRY_SECONDS: u64 = 5;
/// How long a caller is asked to wait for room on the disk, for the writer or for another system, in seconds.
const RETRY_SECONDS: u64 = 5;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What every service refuses alike.
    Fault(Fault),
    /// The request names another tenant than its credential's.
    OtherTenant,
    /// No such thing in this tenant.
    NotFound,
    /// An export of a revision that does not exist yet.
    RevisionNotFound,
    /// A parameter, a header or a part of the path is wrong; which, and how.
    InvalidParameter(String, String),
    /// A member that the body must not have.
    UnknownField(String),
    /// A member of the body is wrong; which, and how.
    InvalidField(String, String),
    /// The body is JSON of the wrong shape as a whole.
    InvalidBody(&'static str),
    /// What was uploaded waited longer to be published than such values are kept.
    UploadExpired,
    /// More key context than a file may have.
    ContextTooLarge,
    /// An uploaded file over the cap.
    UploadTooLarge,
    /// Something else holds the place; says what.
    Conflict(&'static str),
    /// The path holds a file of another kind, profile or root locale.
    FormatMismatch,
    /// The key is not in the latest version of its file.
    KeyObsolete,
    /// The translation has another revision than the request is meant for.
    RevisionMismatch,
    /// The translation is in no state from which this can be done.
    InvalidTransition,
    /// Checks that block fail: all of them.
    QaFailed {
        /// Their ids.
        ids: Vec<&'static str>,
        /// What each says, as the interface shows it.
        checks: Vec<Json>,
    },
    /// Units of a document that cannot be written; the first of them. Nothing was written.
    UnitsRefused(Vec<RefusedUnit>),
    /// The revision is older than the current one, which the answer carries.
    RevisionSuperseded(ETag),
    /// `If-Match` is not the current tag, which the answer carries.
    PreconditionFailed(ETag),
    /// `If-Match` is missing.
    PreconditionRequired,
    /// A kind of file that is not offered.
    FormatNotOffered,
    /// A file that cannot be read; the reader's code, and where.
    Reader {
        /// One of [`READER_CODES`].
        code: &'static str,
        /// From 1; 0: the file as a whole.
        line: usize,
        /// From 1, in characters.
        column: usize,
    },
    /// A tag that is no locale; one of [`TAG_CODES`].
    Tag(&'static str),
    /// Two tags of one list are one locale.
    LocaleDuplicate,
    /// A translation whose shape does not fit the key or the locale; says how.
    EditShape(&'static str),
    /// A translation longer than allowed.
    ValueTooLong,
    /// A release over the cap.
    ReleaseTooLarge,
    /// A range that lies behind the end; how many bytes there are.
    RangeNotSatisfiable(u64),
    /// A translation that its file cannot hold.
    ValueUnrepresentable,
    /// A parameter that does not go with this file; which.
    UnprocessableParameter(&'static str, &'static str),
    /// A path that is no active key of the file; its place in the request.
    KeyUnknown(String),
    /// A `min_length` above its `max_length`; its place in the request.
    LengthRange(String),
    /// A context with white space at an end; its place in the request.
    ContextInvalid(String),
    /// Another entry of the glossary says the same.
    TermExists,
    /// A member of a glossary entry is missing, or does not go with its kind; which, and how.
    TermShape(&'static str, &'static str),
    /// A term with white space at an end or a character that cannot be printed; which member.
    TermInvalid(&'static str),
    /// A register in another scope than the default one, or without a text.
    RegisterScope,
    /// The language core's own checks do not pass.
    CoreUnavailable,
    /// There is no AI engine, or it gives no answer of use.
    AiUnavailable,
    /// Nothing of the file is to be approved in the locale.
    NothingToApprove,
    /// An approval request for the file and locale is open.
    ApprovalPending,
    /// A licence for the locale waits for its decision.
    LicencePending,
    /// The locale has no active licence.
    PolicyUnlicensed,
    /// The locale's switch is off.
    PolicyDisabled,
    /// A sample whose numbers cannot be; which member, and how.
    SampleInvalid(&'static str, &'static str),
    /// The decision service cannot be asked, or gives no answer of use.
    DecisionUnavailable,
    /// A webhook that is not who it says it is.
    Webhook(WebhookFault),
    /// With a cookie, a request that may change something does not say that it is from a page of this service.
    OriginRefused,
    /// Somebody has signed in who is no member of the tenant.
    NotMember,
    /// A logout token that cannot be verified, or none.
    LogoutToken(&'static str),
    /// There is no identity provider, or it gives no answer of use.
    IdentityUnavailable,
    /// An address that nothing may be sent to; how it must be.
    UrlNotAllowed(&'static str),
}

/// Why a webhook is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookFault {
    /// It has no proper timestamp.
    TimestampInvalid,
    /// It was sent too long ago, or will be.
    TimestampStale,
    /// Somebody else signed it.
    SignatureInvalid,
}

impl WebhookFault {
    const fn code(self) -> &'static str {
        match self {
            WebhookFault::TimestampInvalid => "timestamp_invalid",
            WebhookFault::TimestampStale => "timestamp_stale",
            WebhookFault::SignatureInvalid => "signature_invalid",
        }
    }
}

/// A unit of a document that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedUnit {
    /// Its id in the document.
    pub unit: String,
    /// The key it is of.
    pub key_id: Uuid,
    /// Why.
    pub code: &'static str,
}

impl quintet_storage::Refusal for Refusal {}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

/// Every code that is answered.
pub const CODES: &[Code] = codes! {
    400 "invalid_body" "The body as a whole has the wrong shape"
    400 "invalid_field" "A member of the body is missing or has a value it cannot have"
    400 "invalid_parameter" "A parameter or header is missing or has a value it cannot have"
    400 "malformed_json" "The body is not JSON"
    400 "unknown_field" "The body has a member that is not known here"
    400 "unknown_parameter" "The query has a parameter that is not known here"
    401 "signature_invalid" "The signature is not that of the secret, the timestamp and the body"
    401 "timestamp_invalid" "The timestamp is missing or is not Unix seconds"
    401 "timestamp_stale" "The timestamp is more than 300 seconds off"
    401 "unauthenticated" "A valid credential is required"
    403 "forbidden" "The caller may not do this"
    403 "origin_refused" "With a cookie, a request that may change something must come from a page of this service (Origin)"
    404 "not_found" "Not found in this tenant"
    404 "revision_not_found" "This revision does not exist yet"
    405 "method_not_allowed" "The path does not take this method; the header Allow names those it takes"
    408 "request_timeout" "The body did not arrive in time"
    409 "approval_pending" "An approval request for this file and locale is open"
    409 "conflict" "Something else holds the place"
    409 "format_mismatch" "The path holds a file of another kind, profile or root locale"
    409 "idempotency_in_progress" "A request with this Idempotency-Key is being served"
    409 "invalid_transition" "The translation is in no state from which this can be done"
    409 "key_obsolete" "The key is not in the latest version of its file"
    409 "licence_pending" "A licence for this locale waits for its decision"
    409 "nothing_to_approve" "No translation of the file in the locale can be approved by a request"
    409 "policy_disabled" "The policy switch of the locale is off"
    409 "policy_unlicensed" "The locale has no active licence"
    409 "revision_mismatch" "The translation has another revision"
    409 "term_exists" "The glossary has an entry of this kind, locale, source and target"
    410 "revision_superseded" "There is a newer revision; the header ETag names it"
    412 "precondition_failed" "If-Match does not name the current entity tag; nothing was changed"
    413 "payload_too_large" "The body is larger than allowed"
    413 "upload_too_large" "The file is larger than 52,428,800 bytes"
    415 "unsupported_media_type" "The body has a media type that the route does not take"
    416 "range_not_satisfiable" "The range begins behind the end; the header Content-Range names the size"
    422 "context_invalid" "A context begins or ends with white space"
    422 "duplicate_key" "Two keys of the file have one path"
    422 "edit_shape" "The translation's shape does not fit the key or the locale"
    422 "encoding_invalid" "The file is not in an encoding of its kind"
    422 "format_not_offered" "Files of this kind are not offered"
    422 "idempotency_key_reused" "The Idempotency-Key was used for another request"
    422 "invalid_parameter" "A parameter does not go with this file"
    422 "key_invalid" "A key of the file cannot be a key"
    422 "key_too_long" "A key's path has more than 1,024 characters"
    422 "key_unknown" "A path is no active key of the file"
    422 "length_range" "min_length is above max_length"
    422 "locale_deprecated_no_replacement" "The tag has a part that was withdrawn without a successor"
    422 "locale_duplicate" "Two of the tags are one locale"
    422 "locale_ill_formed" "The tag is not well-formed"
    422 "locale_invalid_subtag" "The tag has a part that is not registered"
    422 "locale_not_translatable" "The tag names nothing that can be translated into"
    422 "locale_script_required" "The language needs a script or region"
    422 "locale_too_long" "The tag is too long once it is canonical"
    422 "malformed" "The file breaks the grammar of its kind"
    422 "nesting_too_deep" "The file nests deeper than 64 levels"
    422 "parse_timeout" "The file took too long to read"
    422 "qa_failed" "Checks that block fail; the member checks has them"
    422 "register_scope" "A register goes with the scope default and a text alone"
    422 "release_too_large" "The archive would be larger than 2 GiB; nothing was stored"
    422 "sample_invalid" "More corrections or errors than the sample has"
    422 "term_invalid" "A source or target has white space at an end, or a character that cannot be printed"
    422 "term_shape" "The entry's members do not go with its kind"
    422 "too_many_units" "The file has more than 200,000 units, or paths of more than 64 MiB together"
    422 "units_refused" "Units of the document cannot be written; nothing was written"
    422 "unsupported_construct" "The file uses what is not supported"
    422 "upload_too_large" "The file is larger than its kind allows"
    422 "url_not_allowed" "Nothing may be sent to the address"
    422 "value_too_long" "The translation is longer than 65,536 bytes"
    422 "value_unrepresentable" "A value cannot be written in this file"
    422 "yaml_alias_refused" "Anchors and aliases are not supported"
    422 "yaml_tag_refused" "Tags are not supported"
    428 "precondition_required" "If-Match with the entity tag last read is required"
    429 "quota_exceeded" "The tenant has no calls left"
    500 "internal_error" "The appliance made a mistake"
    503 "ai_unavailable" "There is no AI engine, or it gave no answer of use; nothing was done"
    503 "busy" "The appliance is busy; nothing was done"
    503 "decision_unavailable" "The decision service could not be asked, or gave no answer of use"
    503 "identity_unavailable" "Nobody can be asked who people are: there is no identity provider, or it gives no answer of use"
    503 "language_core_unavailable" "The language core does not pass its checks; nothing was done"
    503 "outcome_unknown" "It may or may not have been done"
    503 "storage_full" "The disk is down to its reserve; nothing was done"
    503 "writing_stopped" "Writing has stopped until a restart; nothing was done"
};

/// Codes of tags that are no locale, in the order in which they are judged.
pub const TAG_CODES: &[&str] = &[
    "locale_ill_formed",
    "locale_invalid_subtag",
    "locale_deprecated_no_replacement",
    "locale_not_translatable",
    "locale_script_required",
    "locale_too_long",
];

/// Codes of files that cannot be read.
pub const READER_CODES: &[&str] = &[
    "malformed",
    "duplicate_key",
    "yaml_alias_refused",
    "yaml_tag_refused",
    "encoding_invalid",
    "nesting_too_deep",
    "parse_timeout",
    "too_many_units",
    "key_invalid",
    "key_too_long",
    "value_unrepresentable",
    "unsupported_construct",
    "upload_too_large",
];

impl Refusal {
    /// A parameter or header that is wrong.
    #[must_use]
    pub fn parameter(name: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal::InvalidParameter(name.into(), problem.into())
    }

    /// A member of the body that is wrong.
    #[must_use]
    pub fn field(name: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal::InvalidField(name.into(), problem.into())
    }
}

impl ServiceRefusal for Refusal {
    fn verdict(&self) -> Verdict {
        let of = Verdict::new;
        match self {
            Refusal::Fault(fault) => of_fault(fault),
            Refusal::OtherTenant => of(403, "forbidden").detail("the credential is another tenant's"),
            Refusal::NotFound => of(404, "not_found"),
            Refusal::RevisionNotFound => of(404, "revision_not_found"),
            Refusal::InvalidParameter(name, problem) => of(400, "invalid_parameter").problem(name, problem),
            Refusal::UnknownField(names) => of(400, "unknown_field").problem(names, "is not known here"),
            Refusal::InvalidField(name, problem) => of(400, "invalid_field").problem(name, problem),
            Refusal::InvalidBody(detail) => of(400, "invalid_body").detail(*detail),
            Refusal::UploadExpired => of(408, "request_timeout"),
            Refusal::ContextTooLarge => of(413, "payload_too_large"),
            Refusal::UploadTooLarge => of(413, "upload_too_large"),
            Refusal::Conflict(detail) => of(409, "conflict").detail(*detail),
            Refusal::FormatMismatch => of(409, "format_mismatch"),
            Refusal::KeyObsolete => of(409, "key_obsolete"),
            Refusal::RevisionMismatch => of(409, "revision_mismatch"),
            Refusal::InvalidTransition => of(409, "invalid_transition"),
            Refusal::QaFailed { ids, checks } => {
                of(422, "qa_failed").detail(ids.join(", ")).member("checks", Json::Array(checks.clone()))
            }
            Refusal::UnitsRefused(units) => of(422, "units_refused").member("units", units_json(units)),
            Refusal::RevisionSuperseded(current) => of(410, "revision_superseded").header(ETAG, current.header_value()),
            Refusal::PreconditionFailed(current) => of(412, "precondition_failed").header(ETAG, current.header_value()),
            Refusal::PreconditionRequired => of(428, "precondition_required"),
            Refusal::FormatNotOffered => of(422, "format_not_offered"),
            Refusal::Reader { code, line, column } => of_reader(code, *line, *column),
            Refusal::Tag(code) => of(422, code),
            Refusal::LocaleDuplicate => of(422, "locale_duplicate"),
            Refusal::EditShape(detail) => of(422, "edit_shape").detail(*detail),
            Refusal::ValueTooLong => of(422, "value_too_long"),
            Refusal::ReleaseTooLarge => of(422, "release_too_large"),
            Refusal::RangeNotSatisfiable(size) => range_of(*size),
            Refusal::ValueUnrepresentable => of(422, "value_unrepresentable"),
            Refusal::UnprocessableParameter(name, problem) => of(422, "invalid_parameter").problem(*name, *problem),
            Refusal::KeyUnknown(name) => of(422, "key_unknown").problem(name, ""),
            Refusal::LengthRange(name) => of(422, "length_range").problem(name, ""),
            Refusal::ContextInvalid(name) => of(422, "context_invalid").problem(name, ""),
            Refusal::TermExists => of(409, "term_exists"),
            Refusal::TermShape(name, problem) => of(422, "term_shape").problem(*name, *problem),
            Refusal::TermInvalid(name) => of(422, "term_invalid").problem(*name, ""),
            Refusal::RegisterScope => of(422, "register_scope").problem("register", ""),
            Refusal::CoreUnavailable => of(503, "language_core_unavailable").retry_after(CORE_RETRY_SECONDS),
            Refusal::AiUnavailable => of(503, "ai_unavailable").retry_after(AI_RETRY_SECONDS),
            Refusal::NothingToApprove => of(409, "nothing_to_approve"),
            Refusal::ApprovalPending => of(409, "approval_pending"),
            Refusal::LicencePending => of(409, "licence_pending"),
            Refusal::PolicyUnlicensed => of(409, "policy_unlicensed"),
            Refusal::PolicyDisabled => of(409, "policy_disabled"),
            Refusal::SampleInvalid(name, problem) => of(422, "sample_invalid").problem(*name, *problem),
            Refusal::DecisionUnavailable => of(503, "decision_unavailable").retry_after(DECISION_RETRY_SECONDS),
            Refusal::Webhook(fault) => of(401, fault.code()),
            Refusal::OriginRefused => of(403, "origin_refused"),
            Refusal::NotMember => of(403, "forbidden").detail("whoever signed in is no member of the tenant"),
            Refusal::LogoutToken(problem) => of(400, "invalid_field").problem("logout_token", *problem),
            Refusal::UrlNotAllowed(problem) => of(422, "url_not_allowed").problem("url", *problem),
            Refusal::IdentityUnavailable => of(503, "identity_unavailable").retry_after(IDENTITY_RETRY_SECONDS),
        }
    }
}

/// A file that cannot be read, and where.
fn of_reader(code: &'static str, line: usize, column: usize) -> Verdict {
    let verdict = Verdict::new(422, code);
    match line {
        0 => verdict,
        _ => verdict.detail(format!("at line {line}, column {column}")).member("line", line).member("column", column),
    }
}

/// A range that lies behind the end of what has so many bytes.
fn range_of(size: u64) -> Verdict {
    let verdict = Verdict::new(416, "range_not_satisfiable");
    match HeaderValue::try_from(format!("bytes */{size}")) {
        Ok(value) => verdict.header(CONTENT_RANGE, value),
        Err(_) => verdict,
    }
}

/// Units that cannot be written, as a problem lists them.
fn units_json(units: &[RefusedUnit]) -> Json {
    let units = units.iter().map(|one| {
        Json::object([
            ("unit", Json::from(one.unit.as_str())),
            ("key_id", Json::from(one.key_id.to_string())),
            ("code", Json::from(one.code)),
        ])
    });
    Json::Array(units.collect())
}

/// What every service refuses alike, in this service's codes.
fn of_fault(fault: &Fault) -> Verdict {
    let of = |status, code| Verdict::new(status, code).about(fault);
    match fault {
        Fault::HostMissing => of(400, "invalid_parameter").problem("Host", "HTTP/1.1 needs one that names a host"),
        Fault::NoSuchPath => of(404, "not_found"),
        Fault::MethodNotAllowed => of(405, "method_not_allowed"),
        Fault::RateLimited(_) | Fault::QuotaExceeded(_) => of(429, "quota_exceeded"),
        Fault::Unauthenticated | Fault::CredentialExpired => of(401, "unauthenticated"),
        Fault::TenantNotProvisioned => of(403, "forbidden").detail("the tenant is not provisioned for localization"),
        Fault::TenantSuspended => of(403, "forbidden").detail("the tenant is suspended"),
        Fault::Forbidden => of(403, "forbidden"),
        Fault::Query { error: QueryError::Unknown(_), .. } => of(400, "unknown_parameter"),
        Fault::Query { .. } | Fault::KeyMissing | Fault::KeyMalformed(_) => of(400, "invalid_parameter"),
        Fault::KeyReused => of(422, "idempotency_key_reused"),
        Fault::KeyInProgress => of(409, "idempotency_in_progress"),
        Fault::BodyTooLarge => of(413, "payload_too_large"),
        Fault::BodyTimedOut => of(408, "request_timeout"),
        Fault::BodyBroken => of(400, "invalid_body"),
        Fault::MediaTypeUnsupported => of(415, "unsupported_media_type"),
        Fault::Json(_) => of(400, "malformed_json"),
        Fault::Shape(_) => of(400, "invalid_field"),
        // No other system is asked what a credential is worth (localization, S4).
        Fault::AuthorizationUnavailable | Fault::AppliancesCredentialRejected | Fault::Busy => {
            of(503, "busy").retry_after(RETRY_SECONDS)
        }
        Fault::DiskReserve => of(503, "storage_full").retry_after(RETRY_SECONDS),
        Fault::WritingStopped => of(503, "writing_stopped").retry_after(RETRY_SECONDS),
        Fault::OutcomeUnknown => of(503, "outcome_unknown"),
        Fault::Unreadable | Fault::Internal => of(500, "internal_error"),
    }
}

#[cfg(test)]
mod tests {
    use quintet_storage::Failure;

    use super::*;

    #[test]
    fn every_code_is_documented_once() {
        let mut seen: Vec<(u16, &str)> = CODES.iter().map(|known| (known.status, known.code)).collect();
        assert!(seen.is_sorted(), "in order, so that a missing one is seen");
        seen.dedup();
        assert_eq!(seen.len(), CODES.len());
        let tags = TAG_CODES.iter().map(|code| Refusal::Tag(code));
        let readers = READER_CODES.iter().map(|code| Refusal::Reader { code, line: 1, column: 2 });
        for verdict in tags.chain(readers).map(|refusal| refusal.verdict()) {
            assert!(seen.contains(&(verdict.status, verdict.code)), "{}", verdict.code);
        }
    }

    #[test]
    fn failures_of_the_store_have_codes() {
        let code = |failure| Refusal::from(Fault::of_failure(&failure)).verdict().code;
        assert_eq!(code(Failure::Busy), "busy");
        assert_eq!(code(Failure::StorageFull), "storage_full");
        assert_eq!(code(Failure::Stopped), "writing_stopped");
        assert_eq!(code(Failure::OutcomeUnknown), "outcome_unknown");
        assert_eq!(code(Failure::Damaged("x".into())), "internal_error");
        assert_eq!(code(Failure::Io("x".into())), "internal_error");
        assert_eq!(code(Failure::Panicked), "internal_error");
    }

    #[test]
    fn a_reader_says_where() {
        let verdict = Refusal::Reader { code: "malformed", line: 3, column: 7 }.verdict();
        assert_eq!(verdict.problems[0].problem, "at line 3, column 7");
        assert_eq!(verdict.members, [("line", 3_usize.into()), ("column", 7_usize.into())]);
    }

    #[test]
    fn what_may_pass_says_when() {
        let waits = |refusal: Refusal| refusal.verdict().retry_after_seconds;
        for fault in [Fault::Busy, Fault::DiskReserve, Fault::WritingStopped, Fault::AuthorizationUnavailable] {
            assert_eq!(waits(fault.into()), Some(RETRY_SECONDS));
        }
        assert_eq!(waits(Refusal::CoreUnavailable), Some(CORE_RETRY_SECONDS));
        assert_eq!(waits(Refusal::AiUnavailable), Some(30));
        assert_eq!(waits(Fault::QuotaExceeded(7).into()), Some(7));
        assert_eq!(waits(Fault::OutcomeUnknown.into()), None);
    }
}
