//! What every service refuses alike, before its own rules have a say: where a request goes, who sends it, how it is
//! written, and what the store cannot do. A service gives each a status and a code of its own (its dialect); what is
//! said about it beyond that is said here.

use quintet_storage::Failure;

use crate::NotAdmitted;
use crate::access::AuthRefusal;
use crate::http::body::BodyError;
use crate::http::query::QueryError;
use crate::json::{FieldError, JsonError};

/// One thing wrong with one member of a body or one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its path, such as `entries[0].amount`; the parameter's name in a query. Empty: the whole.
    pub field: String,
    /// What is wrong, never with the value itself.
    pub problem: String,
}

impl Problem {
    /// A problem with one member or parameter.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Problem {
        Problem { field: field.into(), problem: problem.into() }
    }
}

impl From<&FieldError> for Problem {
    fn from(error: &FieldError) -> Problem {
        Problem::new(error.field.clone(), error.problem.to_string())
    }
}

/// Why a request was not served, where all services agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// HTTP/1.1 without one Host field that names a host (RFC 9112, 3.2).
    HostMissing,
    /// There is no such path.
    NoSuchPath,
    /// The path does not take the method; the answer carries `Allow`.
    MethodNotAllowed,
    /// Too many requests from one address; wait so many seconds.
    RateLimited(u64),
    /// No credential, or a malformed, unknown or revoked one.
    Unauthenticated,
    /// A credential past its end.
    CredentialExpired,
    /// The credential's tenant does not have this service.
    TenantNotProvisioned,
    /// The credential's tenant, or its parent, is suspended.
    TenantSuspended,
    /// The credential does not carry the permission.
    Forbidden,
    /// The tenant has no calls left; wait so many seconds.
    QuotaExceeded(u64),
    /// An external authorization system could not be asked.
    AuthorizationUnavailable,
    /// An external authorization system refuses the appliance's own credential.
    AppliancesCredentialRejected,
    /// The query cannot be read, or has what the route does not know, twice, or not at all.
    Query {
        /// What is wrong.
        error: QueryError,
        /// The parameters that the route knows.
        supported: Vec<&'static str>,
    },
    /// The Idempotency-Key is missing.
    KeyMissing,
    /// The Idempotency-Key is given twice, is no text, or is too long; how many characters it may have.
    KeyMalformed(usize),
    /// The Idempotency-Key was used for another request.
    KeyReused,
    /// A request with the same Idempotency-Key is being served.
    KeyInProgress,
    /// The body is larger than allowed.
    BodyTooLarge,
    /// The body did not arrive in time.
    BodyTimedOut,
    /// The body broke off, or its framing is malformed.
    BodyBroken,
    /// A body of another media type than the route takes, or with a content coding.
    MediaTypeUnsupported,
    /// The body is no JSON document.
    Json(JsonError),
    /// The body is a JSON document of the wrong shape.
    Shape(Vec<Problem>),
    /// Too much at once; nothing was done.
    Busy,
    /// Free disk space is below the reserve; nothing was done.
    DiskReserve,
    /// Writing has stopped until a restart; nothing was done.
    WritingStopped,
    /// It may or may not have been done.
    OutcomeUnknown,
    /// The system refused to read what is stored.
    Unreadable,
    /// A mistake of the appliance, or damaged data.
    Internal,
}

impl Fault {
    /// What a failure of the store is answered with; the log has the rest.
    #[must_use]
    pub fn of_failure(failure: &Failure) -> Fault {
        match failure {
            Failure::Busy | Failure::StorageFull => tracing::warn!(%failure, "a request was turned away"),
            _ => tracing::error!(%failure, "a request failed"),
        }
        match failure {
            Failure::Busy => Fault::Busy,
            Failure::StorageFull => Fault::DiskReserve,
            Failure::Stopped => Fault::WritingStopped,
            Failure::OutcomeUnknown => Fault::OutcomeUnknown,
            Failure::Io(_) => Fault::Unreadable,
            Failure::Damaged(_) | Failure::TooLarge | Failure::Panicked => Fault::Internal,
        }
    }

    /// Why somebody was not let in.
    #[must_use]
    pub fn of_admission(not: NotAdmitted) -> Fault {
        match not {
            NotAdmitted::Refused(AuthRefusal::Unauthenticated) => Fault::Unauthenticated,
            NotAdmitted::Refused(AuthRefusal::CredentialExpired) => Fault::CredentialExpired,
            NotAdmitted::Refused(AuthRefusal::TenantNotProvisioned) => Fault::TenantNotProvisioned,
            NotAdmitted::Refused(AuthRefusal::TenantSuspended) => Fault::TenantSuspended,
            NotAdmitted::Refused(AuthRefusal::Forbidden) => Fault::Forbidden,
            NotAdmitted::OverQuota(seconds) => Fault::QuotaExceeded(seconds),
            NotAdmitted::Unavailable => Fault::AuthorizationUnavailable,
            NotAdmitted::CredentialRejected => Fault::AppliancesCredentialRejected,
            NotAdmitted::Store(failure) => Fault::of_failure(&failure),
        }
    }

    /// What became of a body.
    #[must_use]
    pub fn of_body(error: BodyError) -> Fault {
        match error {
            BodyError::TooLarge => Fault::BodyTooLarge,
            BodyError::TimedOut => Fault::BodyTimedOut,
            BodyError::Broken => Fault::BodyBroken,
        }
    }

    /// What is wrong with a query of a route that knows these parameters.
    #[must_use]
    pub fn of_query(error: QueryError, supported: impl IntoIterator<Item = &'static str>) -> Fault {
        Fault::Query { error, supported: supported.into_iter().collect() }
    }

    /// A parameter or header that is wrong.
    #[must_use]
    pub fn parameter(name: impl Into<String>, expected: impl Into<String>) -> Fault {
        Fault::of_query(QueryError::Invalid { name: name.into(), expected: expected.into() }, [])
    }

    /// What is wrong with which member or parameter, as far as it is about one.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        match self {
            Fault::Query { error, .. } => vec![match error {
                QueryError::Unknown(names) => Problem::new(names.join(", "), "is not known here"),
                QueryError::Duplicate(name) => Problem::new(name, "occurs more than once"),
                QueryError::Missing(name) => Problem::new(name, "is required"),
                QueryError::Invalid { name, expected } => Problem::new(name, format!("must be {expected}")),
                QueryError::Malformed | QueryError::TooMany => Problem::new("", error.to_string()),
            }],
            Fault::KeyMissing => vec![Problem::new("Idempotency-Key", "is required")],
            Fault::KeyMalformed(most) => {
                vec![Problem::new("Idempotency-Key", format!("is one text of 1 to {most} characters"))]
            }
            // Where the first of the two stood would have to be said with names that came in.
            Fault::Json(JsonError::DuplicateKey { .. }) => {
                vec![Problem::new("", "a JSON object names a member twice")]
            }
            Fault::Json(error) => vec![Problem::new("", error.to_string())],
            Fault::BodyBroken => vec![Problem::new("", "the body breaks off, or its framing is malformed")],
            Fault::Shape(problems) => problems.clone(),
            _ => Vec::new(),
        }
    }

    /// The parameters that the route knows, where one was used that it does not.
    #[must_use]
    pub fn supported(&self) -> Option<&[&'static str]> {
        match self {
            Fault::Query { error: QueryError::Unknown(_), supported } => Some(supported),
            _ => None,
        }
    }

    /// How long to wait, where the fault itself knows, in seconds.
    #[must_use]
    pub fn wait_seconds(&self) -> Option<u64> {
        match self {
            Fault::RateLimited(seconds) | Fault::QuotaExceeded(seconds) => Some(*seconds),
            _ => None,
        }
    }

    /// One of each kind, with what it is called: the table of what bad input gets is made from it, and a test of each
    /// dialect goes through it.
    #[must_use]
    pub fn one_of_each() -> Vec<(&'static str, Fault)> {
        let query = |error| Fault::of_query(error, ["limit"]);
        let invalid = QueryError::Invalid { name: "limit".to_owned(), expected: "a number".to_owned() };
        let json = |error| Fault::Json(error);
        vec![
            ("no Host (HTTP/1.1), or several", Fault::HostMissing),
            ("an unknown path", Fault::NoSuchPath),
            ("a method that the path does not take", Fault::MethodNotAllowed),
            ("too many requests from one address", Fault::RateLimited(1)),
            ("no key, or an unknown or revoked one; several Authorization fields", Fault::Unauthenticated),
            ("an expired key", Fault::CredentialExpired),
            ("a tenant without this service", Fault::TenantNotProvisioned),
            ("a suspended tenant", Fault::TenantSuspended),
            ("a key without the permission", Fault::Forbidden),
            ("no calls left", Fault::QuotaExceeded(1)),
            ("the authorization system does not answer", Fault::AuthorizationUnavailable),
            ("the authorization system refuses the appliance", Fault::AppliancesCredentialRejected),
            ("an unknown parameter", query(QueryError::Unknown(vec!["x".to_owned()]))),
            ("a parameter given twice", query(QueryError::Duplicate("limit".to_owned()))),
            ("a parameter that is missing", query(QueryError::Missing("limit".to_owned()))),
            ("a parameter with a wrong value", query(invalid)),
            ("a malformed query", query(QueryError::Malformed)),
            ("no Idempotency-Key where one is needed", Fault::KeyMissing),
            ("a malformed Idempotency-Key", Fault::KeyMalformed(200)),
            ("an Idempotency-Key of another request", Fault::KeyReused),
            ("an Idempotency-Key of a request under way", Fault::KeyInProgress),
            ("a body that is too large", Fault::BodyTooLarge),
            ("a body that does not arrive", Fault::BodyTimedOut),
            ("a body that breaks off", Fault::BodyBroken),
            ("another media type, or a coded body", Fault::MediaTypeUnsupported),
            ("an empty body where one is needed", json(JsonError::Empty)),
            ("a body that is not UTF-8", json(JsonError::NotUtf8)),
            ("a body that is no JSON", json(JsonError::Malformed { line: 1, column: 1 })),
            ("JSON that nests too deep", json(JsonError::TooDeep)),
            ("JSON with too many values", json(JsonError::TooManyValues)),
            ("a number with too many digits", json(JsonError::NumberTooLong)),
            ("a member named twice", json(JsonError::DuplicateKey { path: "a".to_owned() })),
            ("members of the wrong shape", Fault::Shape(vec![Problem::new("name", "is required")])),
            ("too much at once", Fault::Busy),
            ("a disk that is nearly full", Fault::DiskReserve),
            ("writing that has stopped", Fault::WritingStopped),
            ("an outcome that is not known", Fault::OutcomeUnknown),
            ("what cannot be read from the disk", Fault::Unreadable),
            ("a mistake of the appliance", Fault::Internal),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_there_once() {
        let all = Fault::one_of_each();
        for (place, (name, fault)) in all.iter().enumerate() {
            assert!(!all.iter().skip(place + 1).any(|(other, same)| other == name || same == fault), "{name}");
        }
    }

    #[test]
    fn nothing_that_came_in_is_repeated_but_names() {
        let duplicate = Fault::Json(JsonError::DuplicateKey { path: "secret".to_owned() });
        assert_eq!(duplicate.problems(), [Problem::new("", "a JSON object names a member twice")]);
        let unknown = Fault::of_query(QueryError::Unknown(vec!["statee".to_owned()]), ["state"]);
        assert_eq!(unknown.problems(), [Problem::new("statee", "is not known here")]);
        assert_eq!(unknown.supported(), Some(&["state"][..]));
        assert_eq!(Fault::parameter("limit", "a number").problems(), [Problem::new("limit", "must be a number")]);
    }
}
