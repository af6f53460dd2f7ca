//! How the runner is asked: on the blocking pool, and what its no means to a caller.

use quintet_runtime::{ContainerState, Runner, RunnerError};

use crate::refusal::Refusal;

/// A call to the runner, on the blocking pool.
pub(super) async fn on_runner<T: Send + 'static>(
    runner: &Runner,
    call: impl FnOnce(&Runner) -> Result<T, RunnerError> + Send + 'static,
) -> Result<T, RunnerError> {
    let runner = runner.clone();
    let called = tokio::task::spawn_blocking(move || call(&runner)).await;
    called.unwrap_or(Err(RunnerError::Confused))
}

/// What a caller is told of a runner's no.
pub(super) fn refusal_of(error: &RunnerError) -> Refusal {
    match error {
        RunnerError::Refused(quintet_runtime::Refusal::WrongState { state }) => Refusal::InvalidState(match state {
            ContainerState::Starting => "pulling",
            ContainerState::Running => "running",
            ContainerState::Paused => "paused",
            ContainerState::Ended => "ending",
        }),
        RunnerError::Refused(quintet_runtime::Refusal::NoSuchContainer) => Refusal::InvalidState("ending"),
        _ => Refusal::EngineUnavailable,
    }
}
