//! A project's style: what translators and the engine are told, by language.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use quintet_platform::http::query::encode_segment;
use serde_json::{Map, Value};

use super::wire::{Project, Style, Styles};
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room, With};
use crate::console::visitor::Member;

/// The largest form, in bytes.
const FORM_BYTES_MAX: usize = 128 << 10;

/// The page.
#[derive(Template)]
#[template(path = "guide.html", config = "assets/console/askama.toml")]
struct GuidePage {
    frame: Frame,
    project: Project,
    styles: Vec<Style>,
    once: String,
    typed: Style,
    refused: Option<Refused>,
}

/// The page.
pub async fn show(member: Member, Path(project): Path<String>) -> Result<Response, Notice> {
    page(member, &project, Style::default(), None).await
}

async fn page(member: Member, project: &str, typed: Style, refused: Option<Refused>) -> Result<Response, Notice> {
    let base = format!("/v1/projects/{}", encode_segment(project));
    let found: Project = member.asking.get(Room::Localization, &base).await?;
    let styles: Styles = member.asking.get(Room::Localization, &format!("{base}/style")).await?;
    let status = if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    let once = form::once();
    let page = GuidePage { frame: member.frame, project: found, styles: styles.styles, once, typed, refused };
    Ok(answer(status, &page))
}

/// Sets a text; an empty one takes it away.
pub async fn take(member: Member, Path(project): Path<String>, body: Body) -> Result<Response, Notice> {
    let mut form = form::read_of(body, FORM_BYTES_MAX, "").await?;
    let mut text = |name: &str| form.take(name).unwrap_or_default();
    let once = text("once");
    let typed = Style {
        locale: text("locale"),
        scope: text("scope"),
        register: Some(text("register")).filter(|register| !register.is_empty()),
        text: text("text").replace("\r\n", "\n"),
    };
    let mut said = Map::new();
    for (name, text) in [("locale", typed.locale.trim()), ("scope", &typed.scope), ("text", &typed.text)] {
        said.insert(name.to_owned(), Value::from(text));
    }
    if let Some(register) = &typed.register {
        said.insert("register".to_owned(), Value::from(register.as_str()));
    }
    let address = format!("/v1/projects/{}/style", encode_segment(&project));
    let with = With::json(&Value::Object(said)).once(&once);
    match member.asking.change(Room::Localization, Method::PUT, &address, with).await? {
        Ok(_) => Ok(Redirect::to(&format!("/projects/{}/style", encode_segment(&project))).into_response()),
        Err(refused) => page(member, &project, typed, Some(refused)).await,
    }
}
