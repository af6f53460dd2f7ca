//! Every way localization says no, and the one place that turns it into a status and a stable code.

use quintet_platform::http::etag::ETag;
use quintet_platform::http::problem::{Kind, Problem};
use quintet_platform::json::Json;
use quintet_platform::problem_kinds;
use quintet_storage::Failure;

use ::http::header::ETAG;

/// How long a caller is asked to wait for the language core, in seconds: until its next check.
pub const CORE_RETRY_SECONDS: u64 = 60;
/// How long a caller is asked to wait for room on the disk, for the writer or for another system, in seconds.
const RETRY_SECONDS: u64 = 5;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No credential, or a malformed, unknown, expired or revoked one.
    Unauthenticated,
    /// The caller may not; says why where that is not about permissions.
    Forbidden(&'static str),
    /// No such path, or no such thing in this tenant.
    NotFound,
    /// An export of a revision that does not exist yet.
    RevisionNotFound,
    /// The path exists, the method does not; the answer carries `Allow`.
    MethodNotAllowed,
    /// A parameter, a header or a part of the path is wrong; which, and how.
    InvalidParameter(String, String),
    /// Parameters that the route does not know.
    UnknownParameter(String),
    /// A member that the body must not have.
    UnknownField(String),
    /// A member of the body is wrong; which, and how.
    InvalidField(String, String),
    /// The body is no JSON; says where.
    MalformedJson(String),
    /// The body is JSON of the wrong shape as a whole.
    InvalidBody(&'static str),
    /// The body did not arrive in time.
    RequestTimeout,
    /// A JSON body over the cap.
    PayloadTooLarge,
    /// An uploaded file over the cap.
    UploadTooLarge,
    /// A body of another media type than the route takes.
    UnsupportedMediaType,
    /// The Idempotency-Key was used for another request.
    IdempotencyKeyReused,
    /// A request with the same Idempotency-Key is being served.
    IdempotencyInProgress,
    /// Something else holds the place; says what.
    Conflict(&'static str),
    /// The path holds a file of another kind, profile or root locale.
    FormatMismatch,
    /// The key is not in the latest version of its file.
    KeyObsolete,
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
    /// The language core's own checks do not pass.
    CoreUnavailable,
    /// The tenant has no calls left; wait so many seconds.
    QuotaExceeded(u64),
    /// An external authorization system could not be asked.
    AuthorizationUnavailable,
    /// Free disk space is below the reserve; nothing was done.
    StorageFull,
    /// The writer did not get to the request in time; nothing was done.
    Busy,
    /// Writing has stopped until a restart; nothing was done.
    WritingStopped,
    /// It may or may not have been done.
    OutcomeUnknown,
    /// A mistake of the appliance.
    InternalError,
}

impl quintet_storage::Refusal for Refusal {}

/// Every code that is answered.
pub const KINDS: &[Kind] = problem_kinds! { "urn:l10n:problem:";
    400 "invalid_body" "The body as a whole has the wrong shape"
    400 "invalid_field" "A member of the body is missing or has a value it cannot have"
    400 "invalid_parameter" "A parameter or header is missing or has a value it cannot have"
    400 "malformed_json" "The body is not JSON"
    400 "unknown_field" "The body has a member that is not known here"
    400 "unknown_parameter" "The query has a parameter that is not known here"
    401 "unauthenticated" "A valid credential is required"
    403 "forbidden" "The caller may not do this"
    404 "not_found" "Not found in this tenant"
    404 "revision_not_found" "This revision does not exist yet"
    405 "method_not_allowed" "The path does not take this method; the header Allow names those it takes"
    408 "request_timeout" "The body did not arrive in time"
    409 "conflict" "Something else holds the place"
    409 "format_mismatch" "The path holds a file of another kind, profile or root locale"
    409 "idempotency_in_progress" "A request with this Idempotency-Key is being served"
    409 "key_obsolete" "The key is not in the latest version of its file"
    410 "revision_superseded" "There is a newer revision; the header ETag names it"
    412 "precondition_failed" "If-Match does not name the current entity tag; nothing was changed"
    413 "payload_too_large" "The body is larger than allowed"
    413 "upload_too_large" "The file is larger than 52,428,800 bytes"
    415 "unsupported_media_type" "The body has a media type that the route does not take"
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
    422 "too_many_units" "The file has more than 200,000 units, or paths of more than 64 MiB together"
    422 "unsupported_construct" "The file uses what is not supported"
    422 "upload_too_large" "The file is larger than its kind allows"
    422 "value_too_long" "The translation is longer than 65,536 bytes"
    422 "value_unrepresentable" "A value cannot be written in this file"
    422 "yaml_alias_refused" "Anchors and aliases are not supported"
    422 "yaml_tag_refused" "Tags are not supported"
    428 "precondition_required" "If-Match with the entity tag last read is required"
    429 "quota_exceeded" "The tenant has no calls left"
    500 "internal_error" "The appliance made a mistake"
    503 "authorization_unavailable" "The authorization system could not be asked; nothing was done"
    503 "busy" "The appliance is busy; nothing was done"
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
            Refusal::Unauthenticated => (401, "unauthenticated"),
            Refusal::Forbidden(_) => (403, "forbidden"),
            Refusal::NotFound => (404, "not_found"),
            Refusal::RevisionNotFound => (404, "revision_not_found"),
            Refusal::MethodNotAllowed => (405, "method_not_allowed"),
            Refusal::InvalidParameter(..) => (400, "invalid_parameter"),
            Refusal::UnknownParameter(_) => (400, "unknown_parameter"),
            Refusal::UnknownField(_) => (400, "unknown_field"),
            Refusal::InvalidField(..) => (400, "invalid_field"),
            Refusal::MalformedJson(_) => (400, "malformed_json"),
            Refusal::InvalidBody(_) => (400, "invalid_body"),
            Refusal::RequestTimeout => (408, "request_timeout"),
            Refusal::PayloadTooLarge => (413, "payload_too_large"),
            Refusal::UploadTooLarge => (413, "upload_too_large"),
            Refusal::UnsupportedMediaType => (415, "unsupported_media_type"),
            Refusal::IdempotencyKeyReused => (422, "idempotency_key_reused"),
            Refusal::IdempotencyInProgress => (409, "idempotency_in_progress"),
            Refusal::Conflict(_) => (409, "conflict"),
            Refusal::FormatMismatch => (409, "format_mismatch"),
            Refusal::KeyObsolete => (409, "key_obsolete"),
            Refusal::RevisionSuperseded(_) => (410, "revision_superseded"),
            Refusal::PreconditionFailed(_) => (412, "precondition_failed"),
            Refusal::PreconditionRequired => (428, "precondition_required"),
            Refusal::FormatNotOffered => (422, "format_not_offered"),
            Refusal::Reader { code, .. } | Refusal::Tag(code) => (422, code),
            Refusal::LocaleDuplicate => (422, "locale_duplicate"),
            Refusal::EditShape(_) => (422, "edit_shape"),
            Refusal::ValueTooLong => (422, "value_too_long"),
            Refusal::ValueUnrepresentable => (422, "value_unrepresentable"),
            Refusal::UnprocessableParameter(..) => (422, "invalid_parameter"),
            Refusal::KeyUnknown(_) => (422, "key_unknown"),
            Refusal::LengthRange(_) => (422, "length_range"),
            Refusal::ContextInvalid(_) => (422, "context_invalid"),
            Refusal::CoreUnavailable => (503, "language_core_unavailable"),
            Refusal::QuotaExceeded(_) => (429, "quota_exceeded"),
            Refusal::AuthorizationUnavailable => (503, "authorization_unavailable"),
            Refusal::StorageFull => (503, "storage_full"),
            Refusal::Busy => (503, "busy"),
            Refusal::WritingStopped => (503, "writing_stopped"),
            Refusal::OutcomeUnknown => (503, "outcome_unknown"),
            Refusal::InternalError => (500, "internal_error"),
        }
    }

    /// The answer.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let (status, code) = self.status_and_code();
        let problem = Problem::of(KINDS, status, code);
        match self {
            Refusal::InvalidParameter(name, detail) | Refusal::InvalidField(name, detail) => {
                let problem = problem.detail(detail.clone());
                if name.is_empty() { problem } else { problem.field(name.clone()) }
            }
            Refusal::UnknownParameter(names) | Refusal::UnknownField(names) => {
                problem.detail("is not known here").field(names.clone())
            }
            Refusal::KeyUnknown(name) | Refusal::LengthRange(name) | Refusal::ContextInvalid(name) => {
                problem.field(name.clone())
            }
            Refusal::MalformedJson(detail) => problem.detail(detail.clone()),
            Refusal::UnprocessableParameter(name, detail) => problem.detail(*detail).field(*name),
            Refusal::Forbidden("") => problem,
            Refusal::Forbidden(detail)
            | Refusal::InvalidBody(detail)
            | Refusal::Conflict(detail)
            | Refusal::EditShape(detail) => problem.detail(*detail),
            Refusal::Reader { line: 0, .. } => problem,
            Refusal::Reader { line, column, .. } => problem
                .detail(format!("at line {line}, column {column}"))
                .member("line", Json::from(*line))
                .member("column", Json::from(*column)),
            Refusal::RevisionSuperseded(current) | Refusal::PreconditionFailed(current) => {
                problem.header(ETAG, current.header_value())
            }
            Refusal::CoreUnavailable => problem.retry_after(CORE_RETRY_SECONDS),
            Refusal::QuotaExceeded(seconds) => problem.retry_after(*seconds),
            Refusal::AuthorizationUnavailable | Refusal::StorageFull | Refusal::Busy | Refusal::WritingStopped => {
                problem.retry_after(RETRY_SECONDS)
            }
            Refusal::Unauthenticated
            | Refusal::NotFound
            | Refusal::RevisionNotFound
            | Refusal::MethodNotAllowed
            | Refusal::RequestTimeout
            | Refusal::PayloadTooLarge
            | Refusal::UploadTooLarge
            | Refusal::UnsupportedMediaType
            | Refusal::IdempotencyKeyReused
            | Refusal::IdempotencyInProgress
            | Refusal::FormatMismatch
            | Refusal::KeyObsolete
            | Refusal::PreconditionRequired
            | Refusal::FormatNotOffered
            | Refusal::Tag(_)
            | Refusal::LocaleDuplicate
            | Refusal::ValueTooLong
            | Refusal::ValueUnrepresentable
            | Refusal::OutcomeUnknown
            | Refusal::InternalError => problem,
        }
    }
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
        let codes = TAG_CODES.iter().map(|code| Refusal::Tag(code));
        let readers = READER_CODES.iter().map(|code| Refusal::Reader { code, line: 1, column: 2 });
        for refusal in codes.chain(readers) {
            let body = refusal.problem().body();
            assert!(body.contains("urn:l10n:problem:"), "{body}");
        }
    }

    #[test]
    fn failures_and_refusals() {
        assert_eq!(Refusal::of_failure(&Failure::Damaged("x".into())), Refusal::InternalError);
        let body = Refusal::of_failure(&Failure::StorageFull).problem().body();
        assert!(body.contains("\"storage_full\""), "{body}");
    }

    #[test]
    fn a_reader_says_where() {
        let body = Refusal::Reader { code: "malformed", line: 3, column: 7 }.problem().body();
        assert!(body.contains(r#""detail":"at line 3, column 7","line":3,"column":7"#), "{body}");
    }
}
