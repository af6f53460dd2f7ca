//! The console: what people look at. Operators on the operations listener, members on a listener of their own; one set of
//! pages, rendered here from files in `assets/console/`, complete without scripts.
//!
//! Nouns: a *door* is where people come in: that of operators, that of members; each has its own sessions, cookie and
//! address. A *notice* is a page that says why there is nothing else. *Foreign* text is what others wrote.
//!
//! Invariants (8-console.md):
//! - what is shown and done goes through the rooms' own queries and verbs, in process;
//! - a request is for a host that is known, and one that changes something says that it is from a page of that very origin,
//!   port included; otherwise it is answered 403 before anything else is looked at (a `__Host-` cookie goes to every port of
//!   its host, so the cookie alone proves nothing);
//! - a cookie of one door is nothing at the other; an API key is nothing at either, and no secret is ever in an address;
//! - GET changes nothing;
//! - foreign text is escaped, set apart from what stands around it, and what is invisible in it can be seen;
//! - no page asks anybody else for anything, and the policy sent with each says so to browsers.
//!
//! Reading order: `words` (texts in two languages), `foreign`, `door` · `pages` (what the files are given), `notice`
//! · `guard` (before and behind every page) · `visitor` (who asks), `form` · `assets`, `sign_in`, `sessions` (both
//! doors) · `status`, `examinations`, `doctor`, `tenants` (operators) · `home` (members) · `address`, `plot`,
//! `download`, `ledger`, `runs` (what members read).

mod address;
mod approvals;
mod assets;
mod doctor;
mod door;
mod download;
mod examinations;
mod foreign;
mod form;
mod guard;
mod home;
mod ledger;
mod notice;
mod organization;
mod pages;
mod plot;
mod projects;
mod rooms;
mod runs;
mod sessions;
mod sign_in;
mod status;
mod tenants;
mod visitor;
mod words;

#[cfg(test)]
mod tests;

use axum::response::Response;
use axum::routing::{get, post};
use axum::{Router, middleware};
use http::{StatusCode, header};
use quintet_platform::http::problem::problem;
use quintet_platform::service::Fault;

use crate::app::App;
use door::{Console, Door};
pub use guard::harden;
use notice::Notice;

/// The pages of operators: for the operations listener.
pub fn operators(app: &App) -> Router {
    let console = Console::new(app, Door::Operators);
    let pages = Router::new()
        .route("/", get(status::show))
        .route("/doctor", get(doctor::show))
        .route("/tenants", get(tenants::list))
        .route("/tenants/{tenant}", get(tenants::show));
    with_both(pages, console)
}

/// The pages of members: a listener of their own.
pub fn members(app: &App) -> Router {
    let console = Console::new(app, Door::Members);
    let pages = Router::new()
        .route("/", get(home::show))
        .merge(projects::routes())
        .merge(organization::routes())
        .merge(approvals::routes())
        .merge(ledger::routes())
        .merge(runs::routes())
        .fallback(async || Notice::NotFound);
    let live = async || ([(header::CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#);
    // Whoever watches the process knows no host of it.
    let live = get(live).layer(middleware::map_response(harden));
    with_both(pages, console).route("/livez", live)
}

/// What both doors have, behind the guard.
fn with_both(pages: Router<Console>, console: Console) -> Router {
    pages
        .route("/sign-in", get(sign_in::ask).post(sign_in::take))
        .route("/sign-out", post(sign_in::leave))
        .route("/language", post(sign_in::choose_language))
        .route("/sessions", get(sessions::list))
        .route("/sessions/end", post(sessions::end))
        .merge(assets::routes())
        .method_not_allowed_fallback(async || Notice::Method)
        .layer(middleware::from_fn_with_state(console.clone(), guard::keep))
        .with_state(console)
}

/// How both listeners refuse what they must before their routes are asked.
pub fn refuse(fault: Fault, _: &http::Extensions) -> Response {
    let mut answer = match fault {
        Fault::HostMissing => problem(StatusCode::BAD_REQUEST, "host_missing", "HTTP/1.1 needs one Host header"),
        Fault::Busy => problem(StatusCode::SERVICE_UNAVAILABLE, "busy", "the server is busy; try again in a moment"),
        _ => problem(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "the request could not be answered"),
    };
    guard::add_fields(answer.headers_mut());
    answer
}
