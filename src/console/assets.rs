//! The style sheet, the scripts and the picture of the tab: files as they are written.

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use http::header::CONTENT_TYPE;

use super::door::Console;

const STYLE: &str = include_str!("../../assets/console/style.css");
const SIGN_IN: &str = include_str!("../../assets/console/sign-in.js");
const EDITOR: &str = include_str!("../../assets/console/editor.js");
const LOGS: &str = include_str!("../../assets/console/logs.js");
const LIVE: &str = include_str!("../../assets/console/live.js");
const ICON: &str = include_str!("../../assets/console/icon.svg");

/// Their routes.
pub fn routes() -> Router<Console> {
    let file = |media_type: &'static str, text: &'static str| {
        get(async move || ([(CONTENT_TYPE, media_type)], text).into_response())
    };
    Router::new()
        .route("/console/style.css", file("text/css; charset=utf-8", STYLE))
        .route("/console/sign-in.js", file("text/javascript; charset=utf-8", SIGN_IN))
        .route("/console/editor.js", file("text/javascript; charset=utf-8", EDITOR))
        .route("/console/logs.js", file("text/javascript; charset=utf-8", LOGS))
        .route("/console/live.js", file("text/javascript; charset=utf-8", LIVE))
        .route("/console/icon.svg", file("image/svg+xml", ICON))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_bring_nothing_from_elsewhere_and_are_small() {
        for text in [STYLE, SIGN_IN, LIVE, EDITOR, LOGS] {
            assert!(!text.contains("url(") && !text.contains("@import") && !text.contains("://"));
        }
        for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!([SIGN_IN, LIVE, EDITOR, LOGS].iter().all(|script| !script.contains(sink)), "{sink}");
        }
        assert!([STYLE, SIGN_IN, LIVE, EDITOR, LOGS].iter().map(|text| text.len()).sum::<usize>() < 100_000);
    }
}
