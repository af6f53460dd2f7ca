//! Before and behind every page: whether the request is for here and from here, and what browsers may do with the answer.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use quintet_platform::access::Services;
use quintet_platform::http::web_origin::is_from;

use super::door::Console;
use super::notice::Notice;
use super::pages::{Frame, NoticePage, answer};
use super::words::Language;

/// What a page may do: run and wear what comes from here, send its forms here, and be in no frame. A script that wants to
/// write markup has to say so under the one name.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types console",
);

/// Middleware around every page.
pub async fn keep(State(console): State<Console>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let (language, path) = (Language::of(&parts.headers), parts.uri.path().to_owned());
    let mut given = match check(&console, &parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(notice) => notice.into_response(),
    };
    if let Some(notice) = given.extensions().get::<Notice>().copied() {
        let frame = Frame { language, door: console.door, who: None, path, services: Services::default() };
        let allowed = given.headers_mut().remove(ALLOW);
        given = answer(notice.status(), &NoticePage::of(notice, frame));
        if let Some(allowed) = allowed {
            given.headers_mut().insert(ALLOW, allowed);
        }
    }
    given.headers_mut().extend(fields());
    given
}

/// Whether a request is for here; and, if it can change something, from here.
fn check(console: &Console, parts: &Parts) -> Result<(), Notice> {
    let own = console.own_origin(parts).ok_or(Notice::StrangeHost)?;
    let changes = !matches!(parts.method, Method::GET | Method::HEAD);
    if changes && !is_from(&parts.headers, &own) {
        return Err(Notice::ForeignOrigin);
    }
    Ok(())
}

/// Middleware around what is no page and is answered beside them: where it says nothing of its own, what pages say.
pub async fn harden(mut answer: Response) -> Response {
    add_fields(answer.headers_mut());
    answer
}

/// Adds what pages say, where nothing is said.
pub fn add_fields(headers: &mut HeaderMap) {
    for (name, value) in fields() {
        headers.entry(name).or_insert(value);
    }
}

/// What a page tells browsers.
fn fields() -> [(HeaderName, HeaderValue); 8] {
    [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow")),
    ]
}
