//! How a run ends: what the outcome of its container means, or what ended it without one.

use quintet_runtime::{EndReason, Outcome};
use quintet_storage::Timestamp;

use super::model::{LastWords, Reason, RunResult};
use crate::states::RunState;

/// What is told of a run that waited too long.
pub(crate) const QUEUE_TIMEOUT: &str = "it waited longer than max_queue_seconds for a slot";

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) state: RunState,
    pub(crate) reason: Option<Reason>,
    pub(crate) message: Option<String>,
    pub(crate) exit_code: Option<i32>,
    /// When its command ran, if it ever did.
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Timestamp,
    pub(crate) result: RunResult,
    pub(crate) last_words: LastWords,
}

impl End {
    /// An end without a container.
    pub(crate) fn failed(reason: Reason, message: impl Into<String>, now: Timestamp) -> End {
        End {
            state: RunState::Failed,
            reason: Some(reason),
            message: Some(message.into()),
            exit_code: None,
            started_at: None,
            finished_at: now,
            result: RunResult::default(),
            last_words: LastWords::default(),
        }
    }

    /// It was killed before it had a container.
    pub(crate) fn killed(now: Timestamp) -> End {
        End { state: RunState::Killed, message: None, ..End::failed(Reason::Killed, "", now) }
    }

    /// It has not started in time.
    pub(crate) fn expired(now: Timestamp) -> End {
        End::failed(Reason::Expired, "it had not started when expires_at came", now)
    }

    /// What a container's outcome means for its run; `is_stopping`: it was told to stop.
    pub(crate) fn of(outcome: &Outcome, is_stopping: bool, last_words: LastWords) -> End {
        let code = outcome.exit_code.or(outcome.signal.map(|signal| 128 + signal));
        let (state, reason, message) = verdict(outcome, is_stopping, code);
        let started_at = outcome.started_at_micros.map(Timestamp::from_micros);
        let finished_at = Timestamp::from_micros(outcome.finished_at_micros);
        let ran = outcome.started_at_micros.map_or(0, |start| outcome.finished_at_micros.saturating_sub(start));
        End {
            state,
            reason,
            message,
            exit_code: code,
            started_at,
            finished_at,
            result: RunResult {
                signal: outcome.signal,
                oom_killed: outcome.oom_killed,
                duration_micros: u64::try_from(ran).unwrap_or(0),
                paused_micros: outcome.paused_micros,
                stdout_bytes: outcome.stdout.bytes,
                stderr_bytes: outcome.stderr.bytes,
                stdout_truncated: outcome.stdout.dropped_lines > 0,
                stderr_truncated: outcome.stderr.dropped_lines > 0,
                peak_memory_bytes: outcome.peak_memory_bytes,
                cpu_micros: outcome.cpu_micros,
            },
            last_words,
        }
    }
}

/// The state and the reason of the contract's table.
fn verdict(outcome: &Outcome, is_stopping: bool, code: Option<i32>) -> (RunState, Option<Reason>, Option<String>) {
    let returned = || match (outcome.signal, code) {
        (Some(signal), _) => format!("the command was ended by signal {signal}"),
        (None, Some(code)) => format!("the command returned {code}"),
        (None, None) => "the command ended".to_owned(),
    };
    match &outcome.reason {
        EndReason::Exited if code == Some(0) => (RunState::Exited, None, None),
        EndReason::Exited if is_stopping => (RunState::Exited, None, Some(returned())),
        EndReason::Exited if outcome.oom_killed => {
            let message = "the kernel ended it: it wanted more memory than memory_limit_mb".to_owned();
            (RunState::Failed, Some(Reason::OomKilled), Some(message))
        }
        EndReason::Exited => (RunState::Failed, Some(Reason::NonzeroExit), Some(returned())),
        EndReason::Killed => (RunState::Killed, Some(Reason::Killed), None),
        EndReason::TimedOut => {
            let message = "it ran longer than timeout_seconds".to_owned();
            (RunState::Timeout, Some(Reason::Timeout), Some(message))
        }
        EndReason::GraceExpired => {
            let message = "it did not end within the grace period of a stop".to_owned();
            (RunState::Killed, Some(Reason::StopGraceExpired), Some(message))
        }
        EndReason::StartFailed(why) | EndReason::NotMade(why) => {
            (RunState::Failed, Some(Reason::StartFailed), Some(why.clone()))
        }
        EndReason::Lost => {
            let message = "what supervised it is gone, and how it would have ended nobody knows".to_owned();
            (RunState::Failed, Some(Reason::WorkerLost), Some(message))
        }
    }
}
