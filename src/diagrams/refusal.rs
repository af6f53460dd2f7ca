//! Every no of this room, and the one table from it to a status.

use quintet_platform::access::AuthRefusal;
use quintet_storage::Failure;

use crate::engine::DrawingError;
use crate::pool::PoolRefusal;

/// Why a request is not answered with what it asks for. Texts are for people and change; statuses do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request is malformed; says how.
    Invalid(String),
    /// The credential is missing or unknown.
    Unauthenticated,
    /// The credential has expired.
    CredentialExpired,
    /// The credential does not allow this, or its tenant may not.
    Forbidden(&'static str),
    /// There is no such thing.
    NotFound(&'static str),
    /// The path knows other methods.
    MethodNotAllowed,
    /// The body did not arrive in time.
    BodyTimedOut,
    /// The body, the source or the prompt is too large; says how large it may be.
    TooLarge(String),
    /// The source gives no picture.
    Undrawable(DrawingError),
    /// The tenant's quota is used up for so many seconds.
    QuotaExceeded(u32),
    /// It went wrong here.
    Internal,
    /// What was asked for text failed; says how.
    EngineFailed(String),
    /// Nobody has said what to ask for text.
    NoEngine,
    /// Too much at once.
    Busy,
    /// Free disk space is below the reserve.
    StorageFull,
    /// Writing has stopped, or the outcome is unknown.
    StorageStopped,
    /// The authorization system cannot be asked.
    AuthorizationUnavailable,
}

/// What a refusal is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The status.
    pub status: u16,
    /// The text.
    pub error: String,
    /// After how many seconds a repetition may succeed.
    pub retry_after_seconds: Option<u32>,
}

impl Refusal {
    /// What it is answered with.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (status, error, retry_after_seconds) = match self {
            Refusal::Invalid(how) => (400, how.as_str(), None),
            Refusal::Unauthenticated => (401, "a key is required: Authorization: Bearer KEY", None),
            Refusal::CredentialExpired => (401, "the key has expired", None),
            Refusal::Forbidden(why) => (403, *why, None),
            Refusal::NotFound(what) => (404, *what, None),
            Refusal::MethodNotAllowed => (405, "this path does not know that method", None),
            Refusal::BodyTimedOut => (408, "the body did not arrive in time", None),
            Refusal::TooLarge(what) => (413, what.as_str(), None),
            Refusal::Undrawable(error) if error.is_source_too_large => (413, error.message.as_str(), None),
            Refusal::Undrawable(error) => (422, error.message.as_str(), None),
            Refusal::QuotaExceeded(seconds) => (429, "the tenant's quota is used up", Some(*seconds)),
            Refusal::Internal => (500, "the request could not be answered", None),
            Refusal::EngineFailed(how) => (502, how.as_str(), None),
            Refusal::NoEngine => (503, "no AI engine is configured (ai.url)", None),
            Refusal::Busy => (503, "too much to draw at the moment", Some(1)),
            Refusal::StorageFull => (503, "free disk space is below the reserve", Some(30)),
            Refusal::StorageStopped => (503, "storage takes no writes; a restart clears it", Some(30)),
            Refusal::AuthorizationUnavailable => (503, "the authorization system cannot be asked", Some(5)),
        };
        Verdict { status, error: error.to_owned(), retry_after_seconds }
    }

    /// Where in the source the fault is: line and column.
    #[must_use]
    pub fn place(&self) -> (Option<u32>, Option<u32>) {
        match self {
            Refusal::Undrawable(error) => (error.line, error.column),
            _ => (None, None),
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        match failure {
            Failure::Busy => Refusal::Busy,
            Failure::StorageFull => Refusal::StorageFull,
            Failure::Stopped | Failure::OutcomeUnknown => {
                tracing::error!(%failure, "a picture could not be stored");
                Refusal::StorageStopped
            }
            Failure::Damaged(_) | Failure::TooLarge | Failure::Panicked | Failure::Io(_) => {
                tracing::error!(%failure, "a request failed");
                Refusal::Internal
            }
        }
    }
}

impl From<PoolRefusal> for Refusal {
    fn from(refusal: PoolRefusal) -> Refusal {
        match refusal {
            PoolRefusal::Busy => Refusal::Busy,
            PoolRefusal::Overdue => {
                Refusal::Undrawable(DrawingError::without_place("the drawing takes longer than any may"))
            }
            PoolRefusal::Panicked => {
                tracing::error!("a drawing panicked");
                Refusal::Internal
            }
        }
    }
}

impl From<AuthRefusal> for Refusal {
    fn from(refusal: AuthRefusal) -> Refusal {
        match refusal {
            AuthRefusal::Unauthenticated => Refusal::Unauthenticated,
            AuthRefusal::CredentialExpired => Refusal::CredentialExpired,
            AuthRefusal::TenantNotProvisioned => Refusal::Forbidden("the key's tenant has no diagrams"),
            AuthRefusal::TenantSuspended => Refusal::Forbidden("the key's tenant is suspended"),
            AuthRefusal::Forbidden => Refusal::Forbidden("the key lacks the permission diagrams_render"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_its_status() {
        let place = DrawingError { line: Some(3), ..DrawingError::without_place("m") };
        let large = DrawingError { is_source_too_large: true, ..DrawingError::without_place("m") };
        for (refusal, status, retry_after) in [
            (Refusal::from(Failure::Busy), 503, Some(1)),
            (Refusal::from(Failure::StorageFull), 503, Some(30)),
            (Refusal::from(Failure::Stopped), 503, Some(30)),
            (Refusal::from(Failure::OutcomeUnknown), 503, Some(30)),
            (Refusal::from(Failure::Damaged("secret place".into())), 500, None),
            (Refusal::from(PoolRefusal::Busy), 503, Some(1)),
            (Refusal::from(PoolRefusal::Overdue), 422, None),
            (Refusal::from(PoolRefusal::Panicked), 500, None),
            (Refusal::from(AuthRefusal::Unauthenticated), 401, None),
            (Refusal::from(AuthRefusal::CredentialExpired), 401, None),
            (Refusal::from(AuthRefusal::TenantNotProvisioned), 403, None),
            (Refusal::from(AuthRefusal::TenantSuspended), 403, None),
            (Refusal::from(AuthRefusal::Forbidden), 403, None),
            (Refusal::Undrawable(place.clone()), 422, None),
            (Refusal::Undrawable(large), 413, None),
            (Refusal::QuotaExceeded(7), 429, Some(7)),
            (Refusal::BodyTimedOut, 408, None),
            (Refusal::AuthorizationUnavailable, 503, Some(5)),
        ] {
            let verdict = refusal.verdict();
            assert_eq!((verdict.status, verdict.retry_after_seconds), (status, retry_after), "{refusal:?}");
            assert!(!verdict.error.contains("secret"), "{verdict:?}");
        }
        assert_eq!(Refusal::Undrawable(place).place(), (Some(3), None));
    }
}
