//! The pages that people see between the provider and whatever they work with: text, and nothing that runs.

use http::HeaderValue;
use http::header::{CONTENT_SECURITY_POLICY, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use quintet_platform::service::{Answer, Route, ServiceRefusal as _, media};

use super::answers::private;
use crate::refusal::Refusal;

pub const LOGGED_OUT: Route = Route::get("get_logged_out", "/auth/logged-out")
    .summary("The page that people see who have signed out")
    .successes(&[media(200, &[("text/html", r#"{"type":"string"}"#)])]);

/// A page. Its texts are our own: nothing of a request is in it.
macro_rules! page {
    ($title:literal, $text:literal) => {
        concat!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>",
            $title,
            "</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n<main>\n<h1>",
            $title,
            "</h1>\n<p>",
            $text,
            "</p>\n</main>\n</html>\n"
        )
    };
}

/// Somebody has signed in.
pub fn signed_in() -> Answer {
    of(200, page!("Signed in", "You may close this window and go on."))
}

/// Somebody has signed out.
pub fn logged_out() -> Answer {
    of(200, page!("Signed out", "Your session here has ended."))
}

/// A sign-in that came to nothing, for people. Every one that failed looks the same.
pub fn refused(refusal: &Refusal) -> Answer {
    let verdict = refusal.verdict();
    let text = match verdict.status {
        401 => page!("Not signed in", "That did not work. Please sign in again from the beginning."),
        403 => page!("No access", "You have signed in, but you are not a member here. Ask whoever invited you."),
        _ => page!("Not now", "Signing in does not work at the moment. Please try again a little later."),
    };
    let answer = of(verdict.status, text);
    match (verdict.status, verdict.retry_after_seconds) {
        (401, _) => answer.header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        (_, Some(seconds)) => answer.header(RETRY_AFTER, HeaderValue::from(seconds)),
        _ => answer,
    }
}

fn of(status: u16, page: &'static str) -> Answer {
    const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let answer = Answer::other(status, HeaderValue::from_static("text/html; charset=utf-8"), page);
    private(answer)
        .header(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))
        .header(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
}
