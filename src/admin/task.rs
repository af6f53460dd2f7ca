//! What the handlers of the administration socket share: how they fail, and how they write.

use std::time::{Duration, Instant};

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use quintet_platform::access::AccessRefusal;
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::problem::{Problem, ProblemCode};
use crate::app::App;

/// How long a task waits for the writer.
pub(super) const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// Rows read at a time; a list of all tenants or keys reads as many pages as it takes.
pub(super) const PAGE_ROWS: usize = 1_000;

/// Why a task was not done. Each has a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// The request makes no sense.
    Unusable(String),
    /// What it is about does not exist.
    NotFound(String),
    /// What it is about does not exist; and what shows what does.
    NotThere(String, &'static str),
    /// What it is about is not in a state for it.
    Conflict(String),
    /// The store failed.
    Store(Failure),
    /// The appliance could not do it.
    Failed(String),
}

impl TaskError {
    /// What the command line is told.
    #[must_use]
    pub fn problem(self) -> Problem {
        let (code, message) = match self {
            TaskError::NotThere(message, hint) => {
                return Problem { code: ProblemCode::NotFound, message, hint: Some(hint.to_owned()) };
            }
            TaskError::Unusable(reason) => (ProblemCode::Unusable, reason),
            TaskError::NotFound(reason) => (ProblemCode::NotFound, reason),
            TaskError::Conflict(reason) => (ProblemCode::Conflict, reason),
            TaskError::Store(failure) => (ProblemCode::of(&failure), failure.to_string()),
            TaskError::Failed(reason) => (ProblemCode::Failed, reason),
        };
        Problem { code, message, hint: code.hint().map(str::to_string) }
    }
}

/// Keeps the failure whole: what becomes of it is decided in one place, [`ProblemCode::of`].
impl From<Failure> for TaskError {
    fn from(failure: Failure) -> Self {
        TaskError::Store(failure)
    }
}

impl From<Abort<AccessRefusal>> for TaskError {
    fn from(abort: Abort<AccessRefusal>) -> Self {
        let refusal = match abort {
            Abort::Failed(failure) => return failure.into(),
            Abort::Refused(refusal) => refusal,
        };
        let reason = refusal.to_string();
        match refusal {
            AccessRefusal::TenantNotFound | AccessRefusal::ParentNotFound | AccessRefusal::KeyNotFound => {
                TaskError::NotFound(reason)
            }
            AccessRefusal::TenantExists => TaskError::Conflict(reason),
            AccessRefusal::ParentIsSubTenant
            | AccessRefusal::ServicesNotOfParent
            | AccessRefusal::NoServices
            | AccessRefusal::InvalidName
            | AccessRefusal::InvalidLabel
            | AccessRefusal::InvalidPermission
            | AccessRefusal::InvalidTtl => TaskError::Unusable(reason),
        }
    }
}

impl IntoResponse for TaskError {
    fn into_response(self) -> Response {
        let status = match &self {
            TaskError::Unusable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            TaskError::NotFound(_) | TaskError::NotThere(..) => StatusCode::NOT_FOUND,
            TaskError::Conflict(_) => StatusCode::CONFLICT,
            TaskError::Store(_) | TaskError::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let text = serde_json::to_string(&self.problem()).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
    }
}

/// Runs a verb on the writer.
pub(super) async fn write<T, F>(app: &App, verb: F) -> Result<T, TaskError>
where
    T: Send + 'static,
    F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<AccessRefusal>> + Send + 'static,
{
    Ok(app.store.write(Instant::now() + WRITE_DEADLINE, verb).await?)
}

/// [`write`] for what shuts somebody out: it goes on below the disk reserve.
pub(super) async fn write_freeing<T, F>(app: &App, verb: F) -> Result<T, TaskError>
where
    T: Send + 'static,
    F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<AccessRefusal>> + Send + 'static,
{
    Ok(app.store.write_freeing(Instant::now() + WRITE_DEADLINE, verb).await?)
}

/// Runs what blocks apart from the tasks that answer requests.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, TaskError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| TaskError::Failed(error.to_string()))
}

/// The nearest of some known words, or all of them.
pub(super) fn meant(given: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|word| (strsim::damerau_levenshtein(given, word), word)).min();
    match nearest {
        Some((distance, word)) if distance <= 3 => format!("did you mean {word}?"),
        _ => format!("known are {}", known.join(", ")),
    }
}
