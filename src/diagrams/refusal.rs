//! Every no of this room, and the one match from it to a status and a code.
//!
//! What callers branch on is the status; the error is a sentence, and codes are what the description calls its reasons.

use quintet_platform::service::{Code, Fault, Problem, ServiceRefusal, Verdict};

use crate::engine::DrawingError;
use crate::pool::PoolRefusal;

/// Every reason, with what is said where nothing more particular is.
pub const CODES: &[Code] = quintet_platform::codes! {
    400 "invalid_request" "the request is malformed"
    401 "unauthenticated" "a key is required: Authorization: Bearer KEY"
    401 "credential_expired" "the key has expired"
    403 "not_provisioned" "the key's tenant has no diagrams"
    403 "tenant_suspended" "the key's tenant is suspended"
    403 "forbidden" "the key lacks the permission diagrams_render, or a page of another site asks"
    404 "no_such_path" "no such path; GET /api/docs lists them"
    404 "no_such_picture" "no such picture; POST /graphs draws it (again)"
    404 "no_such_file" "no such file"
    405 "method_not_allowed" "this path does not know that method"
    408 "body_timed_out" "the body did not arrive in time"
    413 "too_large" "the body, the source or the prompt is too large"
    422 "undrawable" "the source cannot be drawn"
    429 "quota_exceeded" "the tenant's quota is used up"
    500 "internal" "the request could not be answered"
    502 "engine_failed" "the AI engine failed, or gave invalid DOT twice"
    503 "no_engine" "no AI engine is configured (ai.url)"
    503 "busy" "too much to draw at the moment"
    503 "storage_full" "free disk space is below the reserve"
    503 "storage_stopped" "storage takes no writes; a restart clears it"
    503 "authorization_unavailable" "the authorization system cannot be asked"
};

/// Why a request is not answered with what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What every service refuses alike.
    Fault(Fault),
    /// There is no such picture, or not any more.
    NoSuchPicture,
    /// The page has no such file.
    NoSuchFile,
    /// The source or the prompt is too large; says how large it may be.
    TooLarge(String),
    /// The source gives no picture.
    Undrawable(DrawingError),
    /// What was asked for text failed; says how.
    EngineFailed(String),
    /// Nobody has said what to ask for text.
    NoEngine,
    /// A browser asks for a page of another site, which may not.
    FromElsewhere,
}

impl quintet_storage::Refusal for Refusal {}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

impl Refusal {
    /// The request is malformed; says how.
    pub fn invalid(how: impl Into<String>) -> Refusal {
        Refusal::Fault(Fault::Shape(vec![Problem::new("", how)]))
    }

    /// Why the pool gave no result.
    #[must_use]
    pub fn of_pool(refusal: PoolRefusal) -> Refusal {
        match refusal {
            PoolRefusal::Busy => Refusal::Fault(Fault::Busy),
            PoolRefusal::Overdue => {
                Refusal::Undrawable(DrawingError::without_place("the drawing takes longer than any may"))
            }
            PoolRefusal::Panicked => {
                tracing::error!("a drawing panicked");
                Refusal::Fault(Fault::Internal)
            }
        }
    }
}

impl ServiceRefusal for Refusal {
    fn verdict(&self) -> Verdict {
        match self {
            Refusal::Fault(fault) => of_fault(fault),
            Refusal::NoSuchPicture => Verdict::new(404, "no_such_picture"),
            Refusal::NoSuchFile => Verdict::new(404, "no_such_file"),
            Refusal::TooLarge(what) => Verdict::new(413, "too_large").detail(what),
            Refusal::Undrawable(error) => of_drawing(error),
            Refusal::EngineFailed(how) => Verdict::new(502, "engine_failed").detail(how),
            Refusal::NoEngine => Verdict::new(503, "no_engine"),
            Refusal::FromElsewhere => Verdict::new(403, "forbidden").detail("a page of another site asks"),
        }
    }
}

/// What a verdict says, as a sentence.
#[must_use]
pub fn sentence(verdict: &Verdict) -> &str {
    match verdict.problems.first() {
        Some(particular) => &particular.problem,
        None => CODES.iter().find(|known| known.code == verdict.code).map_or(verdict.code, |known| known.title),
    }
}

fn of_drawing(error: &DrawingError) -> Verdict {
    let verdict = match error.is_source_too_large {
        true => Verdict::new(413, "too_large"),
        false => Verdict::new(422, "undrawable"),
    };
    let places = [("line", error.line), ("column", error.column)];
    let members = places.into_iter().filter_map(|(name, place)| Some((name, place?)));
    members.fold(verdict.detail(&error.message), |verdict, (name, place)| verdict.member(name, u64::from(place)))
}

fn of_fault(fault: &Fault) -> Verdict {
    let (status, code, retry_after_seconds) = match fault {
        Fault::NoSuchPath => (404, "no_such_path", None),
        Fault::MethodNotAllowed => (405, "method_not_allowed", None),
        Fault::Unauthenticated => (401, "unauthenticated", None),
        Fault::CredentialExpired => (401, "credential_expired", None),
        Fault::TenantNotProvisioned => (403, "not_provisioned", None),
        Fault::TenantSuspended => (403, "tenant_suspended", None),
        Fault::Forbidden => (403, "forbidden", None),
        Fault::QuotaExceeded(seconds) | Fault::RateLimited(seconds) => (429, "quota_exceeded", Some(*seconds)),
        Fault::AuthorizationUnavailable | Fault::AppliancesCredentialRejected => {
            (503, "authorization_unavailable", Some(5))
        }
        Fault::BodyTooLarge => (413, "too_large", None),
        Fault::BodyTimedOut => (408, "body_timed_out", None),
        Fault::HostMissing | Fault::Query { .. } | Fault::BodyBroken | Fault::Json(_) | Fault::Shape(_) => {
            (400, "invalid_request", None)
        }
        // Nothing is asked for a key, and for a media type at /mcp alone.
        Fault::KeyMissing
        | Fault::KeyMalformed(_)
        | Fault::KeyReused
        | Fault::KeyInProgress
        | Fault::MediaTypeUnsupported => (400, "invalid_request", None),
        Fault::Busy => (503, "busy", Some(1)),
        Fault::DiskReserve => (503, "storage_full", Some(30)),
        Fault::WritingStopped | Fault::OutcomeUnknown => (503, "storage_stopped", Some(30)),
        Fault::Unreadable | Fault::Internal => (500, "internal", None),
    };
    let verdict = Verdict { retry_after_seconds, ..Verdict::new(status, code) };
    match particulars(fault) {
        Some(text) => verdict.detail(text),
        None => verdict,
    }
}

/// What is particular about a fault.
fn particulars(fault: &Fault) -> Option<String> {
    match fault {
        Fault::Forbidden => Some("the key lacks the permission diagrams_render".to_owned()),
        Fault::MediaTypeUnsupported => Some("the body must be application/json, without a content coding".to_owned()),
        Fault::HostMissing => Some("the Host field must name this service".to_owned()),
        Fault::Query { error, .. } => Some(error.to_string()),
        Fault::Json(error) => Some(error.to_string()),
        Fault::BodyBroken => Some("the body was cut short".to_owned()),
        Fault::Shape(problems) => {
            let texts = problems.iter().map(|Problem { field, problem }| match field.as_str() {
                "" => problem.clone(),
                field => format!("{field} {problem}"),
            });
            Some(texts.collect::<Vec<_>>().join("; "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use quintet_platform::http::query::QueryError;
    use quintet_storage::Failure;

    use super::*;

    #[test]
    fn every_failure_has_its_status() {
        let large = DrawingError { is_source_too_large: true, ..DrawingError::without_place("m") };
        let stored = |failure| Refusal::from(Fault::of_failure(&failure));
        for (refusal, status, retry_after) in [
            (stored(Failure::Busy), 503, Some(1)),
            (stored(Failure::StorageFull), 503, Some(30)),
            (stored(Failure::Stopped), 503, Some(30)),
            (stored(Failure::OutcomeUnknown), 503, Some(30)),
            (stored(Failure::Damaged("secret place".into())), 500, None),
            (stored(Failure::Io("secret place".into())), 500, None),
            (Refusal::of_pool(PoolRefusal::Busy), 503, Some(1)),
            (Refusal::of_pool(PoolRefusal::Overdue), 422, None),
            (Refusal::of_pool(PoolRefusal::Panicked), 500, None),
            (Fault::Unauthenticated.into(), 401, None),
            (Fault::CredentialExpired.into(), 401, None),
            (Fault::TenantNotProvisioned.into(), 403, None),
            (Fault::TenantSuspended.into(), 403, None),
            (Fault::Forbidden.into(), 403, None),
            (Refusal::Undrawable(large), 413, None),
            (Fault::QuotaExceeded(7).into(), 429, Some(7)),
            (Fault::BodyTimedOut.into(), 408, None),
            (Fault::AuthorizationUnavailable.into(), 503, Some(5)),
        ] {
            let verdict = refusal.verdict();
            assert_eq!((verdict.status, verdict.retry_after_seconds), (status, retry_after), "{refusal:?}");
            assert!(!sentence(&verdict).contains("secret"), "{verdict:?}");
        }
    }

    #[test]
    fn what_is_particular_is_said() {
        let said = |refusal: Refusal| sentence(&refusal.verdict()).to_owned();
        assert_eq!(said(Refusal::NoEngine), "no AI engine is configured (ai.url)");
        assert_eq!(said(Refusal::invalid("the form is no text")), "the form is no text");
        let unknown = Fault::of_query(QueryError::Unknown(vec!["x".to_owned()]), []);
        assert_eq!(said(unknown.into()), "unknown parameters: x");
        let shape = Fault::Shape(vec![Problem::new("dotfile", "is required"), Problem::new("x", "is not known here")]);
        assert_eq!(said(shape.into()), "dotfile is required; x is not known here");
        let wrong = DrawingError { line: Some(3), ..DrawingError::without_place("m") };
        let verdict = Refusal::Undrawable(wrong).verdict();
        assert_eq!((sentence(&verdict), verdict.members.len()), ("m", 1));
    }
}
