//! A project's glossary: terms, what is never translated, what is never said.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery};
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use quintet_platform::http::query::encode_segment;
use serde_json::json;

use super::wire::{Project, Term, Terms};
use crate::console::address::{query, with_query};
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room, With};
use crate::console::visitor::Member;

/// What was typed into the form of a new term.
#[derive(Default)]
struct Typed {
    kind: String,
    locale: String,
    source: String,
    target: String,
    note: String,
}

/// The page.
#[derive(Template)]
#[template(path = "glossary.html", config = "assets/console/askama.toml")]
struct GlossaryPage {
    frame: Frame,
    project: Project,
    terms: Vec<Term>,
    kinds: [&'static str; 3],
    next: Option<String>,
    once: String,
    typed: Typed,
    refused: Option<Refused>,
}

/// The page.
pub async fn show(member: Member, Path(project): Path<String>, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let cursor = query(raw.as_deref())?.take("cursor");
    page(member, &project, cursor, Typed::default(), None).await
}

async fn page(
    member: Member,
    project: &str,
    cursor: Option<String>,
    typed: Typed,
    refused: Option<Refused>,
) -> Result<Response, Notice> {
    let base = format!("/v1/projects/{}", encode_segment(project));
    let found: Project = member.asking.get(Room::Localization, &base).await?;
    let said = [("limit", "100")].into_iter().chain(cursor.as_deref().map(|cursor| ("cursor", cursor)));
    let terms: Terms = member.asking.get(Room::Localization, &with_query(&format!("{base}/glossary"), said)).await?;
    let path = format!("/projects/{}/glossary", encode_segment(project));
    let status = if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    let page = GlossaryPage {
        frame: member.frame,
        project: found,
        terms: terms.terms,
        kinds: ["term", "dnt", "forbidden"],
        next: terms.next_cursor.map(|cursor| with_query(&path, [("cursor", cursor.as_str())])),
        once: form::once(),
        typed,
        refused,
    };
    Ok(answer(status, &page))
}

/// Adds a term, or takes one out.
pub async fn take(member: Member, Path(project): Path<String>, body: Body) -> Result<Response, Notice> {
    let mut form = form::read(body).await?;
    let mut text = |name: &str| form.take(name).unwrap_or_default();
    let base = format!("/v1/projects/{}/glossary", encode_segment(&project));
    let (remove, once) = (text("remove"), text("once"));
    let typed = Typed {
        kind: text("kind"),
        locale: text("locale"),
        source: text("source"),
        target: text("target"),
        note: text("note"),
    };
    let (method, address, with) = match remove.is_empty() {
        true => (Method::POST, base, With::json(&body_of(&typed)).once(&once)),
        false => (Method::DELETE, format!("{base}/{}", encode_segment(&remove)), With::default()),
    };
    match member.asking.change(Room::Localization, method, &address, with).await? {
        Ok(_) => Ok(Redirect::to(&format!("/projects/{}/glossary", encode_segment(&project))).into_response()),
        Err(refused) => page(member, &project, None, typed, Some(refused)).await,
    }
}

fn body_of(typed: &Typed) -> serde_json::Value {
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    json!({
        "kind": typed.kind,
        "locale": said(&typed.locale),
        "source": said(&typed.source),
        "target": said(&typed.target),
        "note": said(&typed.note),
    })
}

impl GlossaryPage {
    /// The key of a kind's word.
    fn word(&self, kind: &str) -> &'static str {
        super::editor::term_word(kind)
    }
}
