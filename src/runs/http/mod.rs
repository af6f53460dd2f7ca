//! Runs over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), this file, `answer`.

mod answer;
mod routes;

use axum::Router;
use axum::extract::State;
use axum::middleware;
use axum::response::Response;
use axum::routing::get;
use quintet_platform::http::request_id;
use quintet_storage::{Read as _, Uuid};
use serde_json::json;

use crate::context::Context;
use crate::model::{RunId, TenantId};
use crate::refusal::Refusal;
use crate::tables::RUNS;
use answer::{Answer, refuse, tell};
use routes::*;
pub use routes::{ROUTES, Route};

/// The listener of runs.
pub fn routes(context: Context) -> Router {
    Router::new()
        .route(HEALTH.path, get(get_health))
        .fallback(async || refuse(&Refusal::NotFound))
        .method_not_allowed_fallback(async || refuse(&Refusal::MethodNotAllowed))
        .layer(middleware::from_fn(tell))
        .layer(middleware::from_fn(request_id::assign))
        .with_state(context)
}

/// The answer to a request whose handler panicked.
#[must_use]
pub fn panic_answer() -> Response {
    refuse(&Refusal::InternalError)
}

async fn get_health(State(context): State<Context>) -> Response {
    let nowhere = (TenantId(Uuid::nil()), RunId(Uuid::nil()));
    let is_database_up = context.store.read().contains(&RUNS, &nowhere).is_ok() && context.store.stop_reason().is_none();
    let word = |is_up: bool| if is_up { "up" } else { "down" };
    let is_engine_up = context.is_engine_up();
    let status = if is_database_up && is_engine_up { "ok" } else { "degraded" };
    let health = json!({
        "status": status, "database": word(is_database_up), "cache": "up", "engine": word(is_engine_up),
        "workers": {"total": context.settings.workers, "busy": 0},
    });
    Answer::json(200, &health).into_response()
}
