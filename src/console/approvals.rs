//! What waits for somebody's decision: what lies on the desk for the member's tenant. Looking at it never decides.

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use quintet_localization::decision_member::{self, DECIDE, Saying};
use quintet_localization::decision_operator::{DeskRefusal, Verdict, is_embedded};
use quintet_platform::ids::parse_uuid;
use quintet_platform::people::permits_of;
use quintet_storage::{Abort, Uuid};
use serde_json::Value;

use super::address::query;
use super::door::Console;
use super::form;
use super::notice::Notice;
use super::pages::{Frame, answer};
use super::visitor::Member;

/// Decisions that the list shows.
const LIST_MAX: usize = 200;

/// The pages.
pub fn routes() -> Router<Console> {
    Router::new().route("/approvals", get(list)).route("/approvals/{decision}", get(show).post(decide))
}

/// A decision of the list.
struct Line {
    id: String,
    kind: &'static str,
    about: String,
    created_at: String,
    expires_at: String,
    status: String,
}

/// The list.
#[derive(Template)]
#[template(path = "approvals.html", config = "assets/console/askama.toml")]
struct ApprovalsPage {
    frame: Frame,
    lines: Vec<Line>,
    all: bool,
    is_elsewhere: bool,
}

/// A text that is to be approved.
struct Item {
    key: String,
    source: String,
    target: String,
}

/// A decision.
#[derive(Template)]
#[template(path = "approval.html", config = "assets/console/askama.toml")]
struct ApprovalPage {
    frame: Frame,
    line: Line,
    policy: String,
    facts: Vec<(String, String)>,
    items: Vec<Item>,
    context: String,
    context_hash: String,
    approvals: Vec<String>,
    approvals_needed: u64,
    decided_by: Option<String>,
    reason: Option<String>,
    may: bool,
    is_own: bool,
    refused: Option<String>,
    typed: String,
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What is said of something that is not there.
fn optional(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn line(decision: &Value) -> Line {
    let action = decision["action"].as_object();
    let parts = ["project", "file", "locale", "count"].into_iter().filter_map(|name| action?.get(name).map(text));
    let kind = match decision["subject"]["type"].as_str().or(decision["subject"]["kind"].as_str()) {
        Some("licence") => "approvals.licence",
        _ => "approvals.request",
    };
    Line {
        id: text(&decision["decision_id"]),
        kind,
        about: parts.collect::<Vec<_>>().join(" · "),
        created_at: text(&decision["created_at"]),
        expires_at: text(&decision["expires_at"]),
        status: text(&decision["status"]),
    }
}

impl Line {
    /// The key of the status's word.
    fn word(&self) -> &'static str {
        match self.status.as_str() {
            "approved" => "approvals.approved",
            "rejected" => "approvals.rejected",
            "changes_requested" => "approvals.changes",
            "timed_out" => "approvals.timed_out",
            "cancelled" => "approvals.cancelled",
            _ => "approvals.pending",
        }
    }

    /// How it looks.
    fn class(&self) -> &'static str {
        match self.status.as_str() {
            "approved" => "good",
            "pending" => "fair",
            _ => "bad",
        }
    }
}

/// Whether a member may decide.
fn may(console: &Console, member: &Member) -> Result<bool, Notice> {
    let read = console.app.store.read();
    let permits = permits_of(&read, member.session.tenant_id, member.session.principal_id)?;
    Ok(permits.iter().any(|permit| permit == DECIDE))
}

async fn list(State(console): State<Console>, member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    if !may(&console, &member)? {
        return Err(Notice::NotFound);
    }
    let all = query(raw.as_deref())?.take("all").is_some_and(|text| text == "1");
    let (context, tenant_id) = (console.app.localization.clone(), member.session.tenant_id);
    let is_elsewhere = !is_embedded(&context);
    let found = tokio::task::spawn_blocking(move || decision_member::list(&context, tenant_id, all, LIST_MAX));
    let found = found.await.map_err(|_| Notice::Unavailable)??;
    let lines = found.iter().map(line).collect();
    Ok(answer(StatusCode::OK, &ApprovalsPage { frame: member.frame, lines, all, is_elsewhere }))
}

async fn show(
    State(console): State<Console>,
    member: Member,
    Path(decision): Path<String>,
) -> Result<Response, Notice> {
    let id = parse_uuid(&decision).ok_or(Notice::NotFound)?;
    page(&console, member, id, None, String::new()).await
}

/// The page, with what was refused and what was typed for it.
async fn page(
    console: &Console,
    member: Member,
    id: Uuid,
    refused: Option<String>,
    typed: String,
) -> Result<Response, Notice> {
    if !may(console, &member)? {
        return Err(Notice::NotFound);
    }
    let (context, vouched) = (console.app.localization.clone(), member.asking.vouched().clone());
    let found = tokio::task::spawn_blocking(move || decision_member::show(&context, &vouched, id));
    let (found, is_own) = found.await.map_err(|_| Notice::Unavailable)??.ok_or(Notice::NotFound)?;
    let status = if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    let facts = found["action"].as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value)));
    let is_open = found["status"] == "pending" && is_embedded(&console.app.localization);
    let page = ApprovalPage {
        frame: member.frame,
        line: line(&found),
        policy: text(&found["policy"]),
        facts: facts.collect(),
        items: items(&found["context"]),
        context: found["context"].to_string(),
        context_hash: text(&found["context_hash"]),
        approvals: found["approvals"].as_array().into_iter().flatten().map(|one| text(&one["by"])).collect(),
        approvals_needed: found["approvals_needed"].as_u64().unwrap_or(1),
        decided_by: optional(&found["decided_by"]),
        reason: optional(&found["reason"]),
        may: is_open && !is_own,
        is_own,
        refused,
        typed,
    };
    Ok(answer(status, &page))
}

/// The texts that a context has.
fn items(context: &Value) -> Vec<Item> {
    let forms = |value: &Value| match value.as_object() {
        Some(forms) => {
            forms.iter().map(|(category, form)| format!("{category}: {}", text(form))).collect::<Vec<_>>().join("\n")
        }
        None => text(value),
    };
    let item =
        |item: &Value| Item { key: text(&item["key"]), source: forms(&item["source"]), target: forms(&item["target"]) };
    context["items"].as_array().into_iter().flatten().map(item).collect()
}

async fn decide(
    State(console): State<Console>,
    member: Member,
    Path(decision): Path<String>,
    body: Body,
) -> Result<Response, Notice> {
    let decision_id = parse_uuid(&decision).ok_or(Notice::NotFound)?;
    let mut form = form::read(body).await?;
    let verdict = match form.take("verdict").as_deref() {
        Some("approve") => Verdict::Approve,
        Some("reject") => Verdict::Reject,
        Some("request-changes") => Verdict::RequestChanges,
        _ => return Err(Notice::Malformed),
    };
    let typed = form.take("reason").unwrap_or_default().replace("\r\n", "\n");
    let reason = Some(typed.trim().to_owned()).filter(|reason| !reason.is_empty());
    let context_hash = form.take("context_hash").unwrap_or_default();
    if !is_embedded(&console.app.localization) {
        return Err(Notice::NotFound);
    }
    let saying = Saying { decision_id, context_hash, verdict, reason };
    match decision_member::decide(&console.app.localization, member.asking.vouched().clone(), saying).await {
        Ok(_) => Ok(Redirect::to(&format!("/approvals/{decision_id}")).into_response()),
        Err(Abort::Failed(failure)) => Err(failure.into()),
        Err(Abort::Refused(DeskRefusal::NoSuch(_) | DeskRefusal::NotPermitted)) => Err(Notice::NotFound),
        Err(Abort::Refused(refusal)) => page(&console, member, decision_id, Some(refusal.to_string()), typed).await,
    }
}
