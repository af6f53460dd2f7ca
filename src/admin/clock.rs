//! The clock, for the operator.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use quintet_platform::clock::{ClockError, rfc3339};
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::task::TaskError;
use crate::app::App;

/// What the clock says.
pub const SHOW: Call<(), ClockView> = Call::look("/clock");
/// Moves a rehearsal clock.
pub const ADVANCE: Call<AdvanceWish, AdvanceView> = Call::change("/clock/advance");

/// What the clock says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClockView {
    /// The present instant; RFC 3339.
    pub now: String,
    /// `system` or `rehearsal`.
    pub mode: String,
}

/// Asks the rehearsal clock to move.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdvanceWish {
    /// By how many seconds.
    pub seconds: u64,
}

/// Where the rehearsal clock went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdvanceView {
    /// The instant it stands at now; RFC 3339.
    pub now: String,
    /// At how many instants something fell due on the way.
    pub steps: u64,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(SHOW.served_by(async |State(app): State<App>| SHOW.answer(&show(&app))))
        .merge(ADVANCE.served_by(advance))
        .with_state(app)
}

/// What the clock says.
pub(super) fn show(app: &App) -> ClockView {
    let mode = if app.clock.is_rehearsal() { "rehearsal" } else { "system" };
    ClockView { now: rfc3339(app.clock.now()), mode: mode.into() }
}

async fn advance(State(app): State<App>, body: Body) -> Result<Response, TaskError> {
    let wish = ADVANCE.wish(body).await?;
    let report = app.clock.advance(wish.seconds).await.map_err(|error| match error {
        ClockError::RealTime => TaskError::Conflict(error.to_string()),
        ClockError::TooFar => TaskError::Unusable(error.to_string()),
        ClockError::NotAtRest(_) => TaskError::Failed(error.to_string()),
        ClockError::Store(failure) => TaskError::Store(failure),
    })?;
    ADVANCE.answer(&AdvanceView { now: rfc3339(report.now), steps: report.steps })
}
