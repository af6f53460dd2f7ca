//! A workflow: its graph, its nodes, what happened, and what can be done with it.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::Method;
use quintet_platform::http::query::encode_segment;

use super::acting::{self, May, may};
use super::states::{look, word};
use super::wire::{Event, Workflow};
use crate::console::address::{query, with_query};
use crate::console::door::Console;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room};
use crate::console::visitor::Member;

/// Events of a page.
const EVENTS: usize = 200;

/// The page.
#[derive(Template)]
#[template(path = "workflow.html", config = "assets/console/askama.toml")]
struct WorkflowPage {
    frame: Frame,
    workflow: Workflow,
    events: Vec<Event>,
    more: Option<String>,
    is_later: bool,
    may: May,
    acts: &'static [(&'static str, &'static str)],
    once: String,
    refused: Option<Refused>,
}

/// What can be asked for in a state, and the keys of the buttons' texts (contract 2, "Workflow states").
fn acts(state: &str) -> &'static [(&'static str, &'static str)] {
    match state {
        "pending" => &[("cancel", "workflows.cancel")],
        "running" => &[("pause", "runs.pause"), ("cancel", "workflows.cancel")],
        "paused" => &[("resume", "runs.resume"), ("cancel", "workflows.cancel")],
        _ => &[],
    }
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    member: Member,
    Path(workflow): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let since = query(raw.as_deref())?.integer("since", 0..=i64::MAX).map_err(|_| Notice::Malformed)?;
    page(&console, member, &workflow, since.unwrap_or(0), None).await
}

async fn page(
    console: &Console,
    member: Member,
    id: &str,
    since: i64,
    refused: Option<Refused>,
) -> Result<Response, Notice> {
    let may = may(console, &member)?;
    let base = format!("/api/v1/workflows/{}", encode_segment(id));
    let workflow: Workflow = member.asking.get(Room::Runs, &base).await?;
    let (from, limit) = (since.to_string(), EVENTS.to_string());
    let address = with_query(&format!("{base}/events"), [("since", from.as_str()), ("limit", limit.as_str())]);
    let events: Vec<Event> = member.asking.get(Room::Runs, &address).await?;
    let last = events.last().filter(|_| events.len() == EVENTS).map(|event| event.id.to_string());
    let own = format!("/workflows/{}", encode_segment(&workflow.workflow_id));
    let status = acting::status(refused.as_ref());
    let page = WorkflowPage {
        frame: member.frame,
        more: last.map(|last| with_query(&own, [("since", last.as_str())])),
        is_later: since > 0,
        acts: acts(&workflow.state),
        workflow,
        events,
        may,
        once: form::once(),
        refused,
    };
    Ok(answer(status, &page))
}

/// Does what a button asks for.
pub async fn take(
    State(console): State<Console>,
    member: Member,
    Path(workflow): Path<String>,
    body: Body,
) -> Result<Response, Notice> {
    let said = acting::read(body).await?;
    if !["pause", "resume", "cancel"].contains(&said.act.as_str()) {
        return Err(Notice::Malformed);
    }
    let id = encode_segment(&workflow);
    let address = format!("/api/v1/workflows/{id}/{}", said.act);
    match acting::ask(&member.asking, Method::POST, &address, None, &said.once).await? {
        None => Ok(Redirect::to(&format!("/workflows/{id}")).into_response()),
        refused => page(&console, member, &workflow, 0, refused).await,
    }
}

/// The page of a node.
fn node_page(workflow: &str, name: &str) -> String {
    format!("/workflows/{}/nodes/{}", encode_segment(workflow), encode_segment(name))
}

/// What an event says besides.
fn detail(value: &serde_json::Value) -> String {
    if value.as_object().is_none_or(|members| members.is_empty()) { String::new() } else { value.to_string() }
}
