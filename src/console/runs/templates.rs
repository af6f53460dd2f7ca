//! Templates: what they ask for, their graphs before they run, and what starts them.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use http::StatusCode;
use quintet_platform::http::query::encode_segment;

use super::listed::{Listed, listed};
use super::wire::{Page, Template, TemplateVersion, Trigger};
use crate::console::address::{query, said, with_query};
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// The list.
#[derive(askama::Template)]
#[template(path = "templates.html", config = "assets/console/askama.toml")]
struct TemplatesPage {
    frame: Frame,
    templates: Vec<Template>,
    next: Option<String>,
    is_first: bool,
}

/// One of them.
#[derive(askama::Template)]
#[template(path = "template.html", config = "assets/console/askama.toml")]
struct TemplatePage {
    frame: Frame,
    template: Template,
    definition: String,
    versions: Vec<TemplateVersion>,
    triggers: Vec<Trigger>,
    has_more: bool,
}

/// The list.
pub async fn list(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let Listed { items: templates, next, is_first } =
        listed(&member, raw.as_deref(), "/api/v1/templates", "/templates").await?;
    Ok(answer(StatusCode::OK, &TemplatesPage { frame: member.frame, templates, next, is_first }))
}

/// One of them, in its latest version or another.
pub async fn show(member: Member, Path(template): Path<String>, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let version = said(&mut query(raw.as_deref())?, "version");
    let base = format!("/api/v1/templates/{}", encode_segment(&template));
    let asked = version.as_deref().map(|version| ("version", version));
    let found: Template = member.asking.get(Room::Runs, &with_query(&base, asked)).await?;
    let versions: Page<TemplateVersion> = member.asking.get(Room::Runs, &format!("{base}/versions?limit=200")).await?;
    let triggers: Page<Trigger> = member.asking.get(Room::Runs, &format!("{base}/triggers")).await?;
    let page = TemplatePage {
        frame: member.frame,
        definition: serde_json::to_string_pretty(&found.definition).unwrap_or_default(),
        template: found,
        has_more: versions.next_cursor.is_some() || triggers.next_cursor.is_some(),
        versions: versions.items,
        triggers: triggers.items,
    };
    Ok(answer(StatusCode::OK, &page))
}
