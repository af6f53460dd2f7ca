//! Workflows, the newest first.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::Response;
use http::StatusCode;

use super::list::Filters;
use super::states::{OF_WORKFLOWS, look, word};
use super::wire::{Page, WorkflowItem};
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// The list.
#[derive(Template)]
#[template(path = "workflows.html", config = "assets/console/askama.toml")]
struct WorkflowsPage {
    frame: Frame,
    workflows: Vec<WorkflowItem>,
    states: [&'static str; 6],
    filters: Filters,
    next: Option<String>,
    first: Option<String>,
}

/// The page.
pub async fn show(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let filters = Filters::read(raw.as_deref())?;
    let found: Page<WorkflowItem> = member.asking.get(Room::Runs, &filters.asked("/api/v1/workflows")).await?;
    let page = WorkflowsPage {
        frame: member.frame,
        workflows: found.items,
        states: OF_WORKFLOWS,
        next: found.next_cursor.map(|cursor| filters.from("/workflows", &cursor)),
        first: (!filters.cursor.is_empty()).then(|| filters.from("/workflows", "")),
        filters,
    };
    Ok(answer(StatusCode::OK, &page))
}
