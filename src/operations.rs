//! The operations listener: metrics for Prometheus, whether the process lives and can work, the manual, and the pages of
//! operators.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use http::{StatusCode, header};
use quintet_platform::http::problem::problem;
use quintet_storage::Room;
use serde_json::json;

use crate::app::App;
use crate::console;
use crate::manual;

/// The content type of Prometheus' text format in its standardized form.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The listener's routes.
pub fn routes(app: &App) -> Router {
    Router::new()
        .route("/metrics", get(show_metrics))
        .route("/livez", get(show_liveness))
        .route("/readyz", get(show_readiness))
        .with_state(app.clone())
        .merge(manual::http::routes())
        .fallback(async || {
            let there = "no such path; there are /metrics, /livez, /readyz, /manual and the console at /";
            problem(StatusCode::NOT_FOUND, "not_found", there)
        })
        .method_not_allowed_fallback(async || {
            let mut answer =
                problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "only GET and HEAD are allowed here");
            answer.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static("GET, HEAD"));
            answer
        })
        .layer(middleware::map_response(console::harden))
        .merge(console::operators(app))
}

async fn show_metrics(State(app): State<App>) -> Response {
    match app.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(_) => problem(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "the request could not be answered"),
    }
}

async fn show_liveness() -> Response {
    json_answer(StatusCode::OK, &json!({ "status": "ok" }))
}

/// Ready means: requests that write would be served. The reason for stopping is for the log and `quintet status`;
/// this listener may be open to more people than those.
async fn show_readiness(State(app): State<App>) -> Response {
    let unready = |code, detail| problem(StatusCode::SERVICE_UNAVAILABLE, code, detail);
    match (app.store.stop_reason(), app.store.room()) {
        (Some(_), _) => {
            unready("writing_stopped", "writing has stopped after a failure; reads go on; a restart clears it")
        }
        (None, Room::Ample) => json_answer(StatusCode::OK, &json!({ "status": "ok" })),
        (None, Room::Low | Room::Exhausted) => unready(
            "storage_full",
            "free disk space is below the reserve; reads go on, and writing resumes by itself once there is room",
        ),
    }
}

fn json_answer(status: StatusCode, body: &serde_json::Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body.to_string())
        .into_response()
}
