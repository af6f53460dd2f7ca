//! Pausing a run, letting it go on, ending it.

use quintet_platform::service::{Answer, Route, nothing, refusal_of};

use super::path::{RUN, run_key};
use crate::containers::control;
use crate::dialect::{Answered, Call, WRITER_TIME};

/// What a control can be refused with.
const CODES: &[&str] = &["invalid_state", "engine_unavailable"];

pub(super) const PAUSE: Route = Route::post("pause_run", "/api/v1/runs/{track_id}/pause")
    .permission("svc_run_control")
    .summary("Freeze a running run with its memory")
    .segments(&[RUN])
    .successes(&[nothing(204)])
    .codes(CODES);
pub(super) const RESUME: Route = Route::post("resume_run", "/api/v1/runs/{track_id}/resume")
    .permission("svc_run_control")
    .summary("Let a paused run go on")
    .segments(&[RUN])
    .successes(&[nothing(204)])
    .codes(CODES);
pub(super) const STOP: Route = Route::post("stop_run", "/api/v1/runs/{track_id}/stop")
    .permission("svc_run_control")
    .summary("Send SIGTERM to a running run, and SIGKILL once the grace period is over")
    .segments(&[RUN])
    .successes(&[nothing(204)])
    .codes(CODES);
pub(super) const KILL: Route = Route::post("kill_run", "/api/v1/runs/{track_id}/kill")
    .permission("svc_run_control")
    .summary("Send SIGKILL to a running or paused run, or end one that waits for its image")
    .segments(&[RUN])
    .successes(&[nothing(204)])
    .codes(CODES);

pub(super) async fn pause(call: Call) -> Answered {
    control::pause(&call.context, run_key(&call)?, WRITER_TIME).await.map_err(refusal_of)?;
    Ok(Answer::nothing(204))
}

pub(super) async fn resume(call: Call) -> Answered {
    control::resume(&call.context, run_key(&call)?, WRITER_TIME).await.map_err(refusal_of)?;
    Ok(Answer::nothing(204))
}

pub(super) async fn stop(call: Call) -> Answered {
    control::stop(&call.context, run_key(&call)?, WRITER_TIME).await.map_err(refusal_of)?;
    Ok(Answer::nothing(204))
}

pub(super) async fn kill(call: Call) -> Answered {
    control::kill(&call.context, run_key(&call)?, WRITER_TIME).await.map_err(refusal_of)?;
    Ok(Answer::nothing(204))
}
