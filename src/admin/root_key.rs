//! The root key, for the operator: its name and its rotation, never the key.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use quintet_platform::clock::rfc3339;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::task::TaskError;
use crate::app::App;
use crate::root_key::{RotateError, Standing, State as KeyState};

/// What is to be said of the root key.
pub const SHOW: Call<(), RootKeyView> = Call::look("/root-key");
/// Puts a new root key into its file and everything under it.
pub const ROTATE: Call<(), RootKeyView> = Call::change("/root-key/rotate");

/// What is said of the root key: never the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootKeyView {
    /// The name of the key in force.
    pub key_id: String,
    /// Where it comes from, as the configuration has it.
    pub source: String,
    /// Since when it is in force; RFC 3339.
    pub in_force_since: Option<String>,
    /// When a key last followed upon another; RFC 3339.
    pub rotated_at: Option<String>,
    /// `at_rest`, `rewrapping`, `keeping_previous`, `removing_previous` or `stuck`.
    pub state: String,
    /// The same as a sentence.
    pub explanation: String,
    /// The name of the key before it, as long as something may need that.
    pub previous_key_id: Option<String>,
    /// Until when the previous key is kept, once nothing but copies can need it; RFC 3339.
    pub previous_kept_until: Option<String>,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(SHOW.served_by(async |State(app): State<App>| SHOW.answer(&show(&app)?)))
        .merge(ROTATE.served_by(rotate))
        .with_state(app)
}

/// What is to be said of the root key.
pub(super) fn show(app: &App) -> Result<RootKeyView, TaskError> {
    Ok(view(app.root_keys.standing()?))
}

async fn rotate(State(app): State<App>) -> Result<Response, TaskError> {
    let rotated = app.root_keys.rotate().await;
    // Whatever came of it, there may be something to do by the clock.
    app.clock.wake();
    match rotated {
        Ok(standing) => ROTATE.answer(&view(standing)),
        Err(RotateError::Store(failure)) => Err(failure.into()),
        Err(error @ (RotateError::NotAFile(_) | RotateError::PreviousConfigured | RotateError::UnderWay(_))) => {
            Err(TaskError::Conflict(error.to_string()))
        }
        Err(error @ RotateError::File(_)) => Err(TaskError::Failed(error.to_string())),
    }
}

fn view(standing: Standing) -> RootKeyView {
    RootKeyView {
        key_id: standing.key_id.to_string(),
        source: standing.source,
        in_force_since: standing.since.map(rfc3339),
        rotated_at: standing.rotated_at.map(rfc3339),
        state: standing.state.name().into(),
        explanation: standing.state.to_string(),
        previous_key_id: standing.previous_key_id.map(|id| id.to_string()),
        previous_kept_until: match standing.state {
            KeyState::KeepingPrevious(until) => Some(rfc3339(until)),
            KeyState::AtRest | KeyState::Rewrapping | KeyState::RemovingPrevious | KeyState::Stuck(_) => None,
        },
    }
}
