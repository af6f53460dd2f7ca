//! The manual's routes on the operations listener. Pages are made once, at the first request; nothing of a request gets
//! into them, no script runs in them, and they ask nobody for anything but their own style sheet.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use quintet_platform::http::problem::problem;

use super::{PAGES, html};

const STYLE: &str = include_str!("../../assets/manual/style.css");

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

static LIST: LazyLock<String> = LazyLock::new(html::list);
static SHOWN: LazyLock<BTreeMap<&str, String>> =
    LazyLock::new(|| PAGES.iter().map(|page| (page.topic, html::show(page))).collect());

/// The routes.
pub fn routes() -> Router {
    Router::new()
        .route(html::PATH, get(async || answer("text/html; charset=utf-8", LIST.as_str())))
        .route(html::STYLE_PATH, get(async || answer("text/css; charset=utf-8", STYLE)))
        .route("/manual/{topic}", get(show_page))
}

async fn show_page(topic: Result<Path<String>, PathRejection>) -> Response {
    match topic.ok().and_then(|Path(topic)| SHOWN.get(topic.as_str())) {
        Some(page) => answer("text/html; charset=utf-8", page.as_str()),
        None => problem(StatusCode::NOT_FOUND, "not_found", "the manual has no such topic; /manual lists all"),
    }
}

fn answer(media_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        // An upgrade changes the pages, and nothing of them is large.
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text).into_response()
}
