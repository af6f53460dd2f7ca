//! Projects, for members: what there is, how far it has come, and the editor that translations are written in.
//!
//! Nouns: the *strip* is the part of the list that the editor shows beside the *string* that is worked on; *filters* say what
//! is in the list. The address of the editor's page has all of it, so that it can be passed on and comes back after signing
//! in.
//!
//! Invariants: nothing typed is lost (a save on a revision that is another by now is answered with both texts, one that is
//! refused with what was typed); each form is one change, however often it is sent.
//!
//! Reading order: `wire` (what the room answers), `filters`, `texts` (sources with chips, forms), `outcome` · `list`, `project` ·
//! `editor`, `save`, `check`, `bulk` · `files` · `glossary`, `guide`.

mod bulk;
mod check;
mod editor;
mod files;
mod filters;
mod glossary;
mod guide;
mod list;
mod outcome;
mod project;
mod save;
mod texts;
mod wire;

use axum::Router;
use axum::routing::{get, post};

use super::door::Console;
use super::visitor::EDITOR;

/// The pages.
pub fn routes() -> Router<Console> {
    Router::new()
        .route("/projects", get(list::show))
        .route("/projects/{project}", get(project::show))
        .route("/projects/{project}/releases", post(project::release))
        .route("/projects/{project}/glossary", get(glossary::show).post(glossary::take))
        .route("/projects/{project}/style", get(guide::show).post(guide::take))
        .route("/projects/{project}/files/{file}", get(files::download))
        .route(EDITOR, get(editor::show).post(save::take))
        .route("/projects/{project}/locales/{locale}/check", post(check::answer))
        .route("/projects/{project}/locales/{locale}/review", post(bulk::take))
}
