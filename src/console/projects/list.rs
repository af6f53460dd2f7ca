//! The projects that a member may read.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::Response;
use http::StatusCode;

use super::wire::{Project, Projects};
use crate::console::address::{query, with_query};
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// The list.
#[derive(Template)]
#[template(path = "projects.html", config = "assets/console/askama.toml")]
struct ProjectsPage {
    frame: Frame,
    projects: Vec<Project>,
    next: Option<String>,
    is_first: bool,
}

/// The page.
pub async fn show(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let cursor = query(raw.as_deref())?.take("cursor");
    let said = [("limit", "100")].into_iter().chain(cursor.as_deref().map(|cursor| ("cursor", cursor)));
    let found: Projects = member.asking.get(Room::Localization, &with_query("/v1/projects", said)).await?;
    let next = found.next_cursor.map(|cursor| with_query("/projects", [("cursor", cursor.as_str())]));
    let page = ProjectsPage { frame: member.frame, projects: found.projects, next, is_first: cursor.is_none() };
    Ok(answer(StatusCode::OK, &page))
}
