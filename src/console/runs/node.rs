//! A node of a workflow: its attempts, its output, its decision; retrying it, deciding it.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::Method;
use quintet_platform::http::query::encode_segment;
use serde_json::json;

use super::acting::{self, May, may};
use super::states::{has_ended, look, word};
use super::wire::NodeDetail;
use crate::console::door::Console;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room};
use crate::console::visitor::Member;

/// The page.
#[derive(Template)]
#[template(path = "workflow-node.html", config = "assets/console/askama.toml")]
struct NodePage {
    frame: Frame,
    workflow: String,
    path: String,
    node: NodeDetail,
    is_waiting: bool,
    has_ended: bool,
    may: May,
    once: String,
    typed: String,
    refused: Option<Refused>,
}

/// The page.
pub async fn show(
    State(console): State<Console>,
    member: Member,
    Path((workflow, node)): Path<(String, String)>,
) -> Result<Response, Notice> {
    page(&console, member, (&workflow, &node), String::new(), None).await
}

async fn page(
    console: &Console,
    member: Member,
    (workflow, node): (&str, &str),
    typed: String,
    refused: Option<Refused>,
) -> Result<Response, Notice> {
    let may = may(console, &member)?;
    let path = format!("/workflows/{}/nodes/{}", encode_segment(workflow), encode_segment(node));
    let found: NodeDetail = member.asking.get(Room::Runs, &format!("/api/v1{path}")).await?;
    let status = acting::status(refused.as_ref());
    let page = NodePage {
        frame: member.frame,
        workflow: workflow.to_owned(),
        path,
        is_waiting: found.state == "waiting_approval",
        has_ended: has_ended(&found.state),
        node: found,
        may,
        once: form::once(),
        typed,
        refused,
    };
    Ok(answer(status, &page))
}

/// Decides the gate, or tries the node once more.
pub async fn take(
    State(console): State<Console>,
    member: Member,
    Path((workflow, node)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Notice> {
    let said = acting::read(body).await?;
    let path = format!("/workflows/{}/nodes/{}", encode_segment(&workflow), encode_segment(&node));
    let comment = Some(said.comment.trim()).filter(|comment| !comment.is_empty());
    let body = match said.act.as_str() {
        "approve" | "reject" => Some(json!({"comment": comment})),
        "retry" => None,
        _ => return Err(Notice::Malformed),
    };
    let address = format!("/api/v1{path}/{}", said.act);
    match acting::ask(&member.asking, Method::POST, &address, body.as_ref(), &said.once).await? {
        None => Ok(Redirect::to(&path).into_response()),
        refused => page(&console, member, (&workflow, &node), said.comment, refused).await,
    }
}
