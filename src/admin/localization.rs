//! What the administration socket can do for localization: the language core under rehearsal.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use quintet_localization::language::CheckName;

use super::protocol::{CoreCheckView, Items};
use super::server::{Context, answer};
use super::tasks::TaskError;
use crate::app::App;

/// The routes below `/core`.
pub(super) fn routes() -> Router<Context> {
    Router::new()
        .route("/", get(show_core))
        .route("/{check}/fail", post(fail_check))
        .route("/{check}/restore", post(restore_check))
}

async fn show_core(State(context): State<Context>) -> Result<Response, TaskError> {
    answer(&checks(&context.app))
}

async fn fail_check(State(context): State<Context>, Path(check): Path<String>) -> Result<Response, TaskError> {
    let check = rehearsed(&context.app, &check)?;
    context.app.localization.core().fail(check);
    answer(&checks(&context.app))
}

async fn restore_check(State(context): State<Context>, Path(check): Path<String>) -> Result<Response, TaskError> {
    let check = rehearsed(&context.app, &check)?;
    context.app.localization.core().restore(check);
    answer(&checks(&context.app))
}

/// How the language core's checks went.
pub(super) fn checks(app: &App) -> Items<CoreCheckView> {
    let outcomes = app.localization.core().outcomes();
    let view = |one: &quintet_localization::language::CheckOutcome| CoreCheckView {
        name: one.name.name().to_owned(),
        ok: one.ok,
        milliseconds: one.milliseconds,
    };
    Items { items: outcomes.iter().map(view).collect() }
}

/// The check of a name, on a rehearsal directory.
fn rehearsed(app: &App, name: &str) -> Result<CheckName, TaskError> {
    if !app.clock.is_rehearsal() {
        return Err(TaskError::Conflict("checks are made to fail on rehearsal directories only".into()));
    }
    CheckName::from_name(name).map_err(|_| {
        let known: Vec<&str> = CheckName::ALL.iter().map(|check| check.name()).collect();
        TaskError::NotFound(format!("unknown check {name:?}; the checks are {}", known.join(", ")))
    })
}
