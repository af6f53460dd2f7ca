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
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

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

/// A decision as the desk tells it (localization, W6).
#[derive(Deserialize)]
struct Decision {
    decision_id: String,
    subject: Subject,
    action: Map<String, Value>,
    policy: String,
    status: String,
    created_at: String,
    expires_at: String,
    #[serde(default)]
    context: Value,
    #[serde(default)]
    context_hash: String,
    #[serde(default)]
    approvals: Vec<Approval>,
    #[serde(default)]
    approvals_needed: u64,
    decided_by: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Approval {
    by: String,
}

/// Reads what the desk tells.
fn read<T: DeserializeOwned>(told: Value) -> Result<T, Notice> {
    serde_json::from_value(told).map_err(|error| {
        tracing::error!(%error, "a page of the console could not read a decision");
        Notice::Unavailable
    })
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn line(decision: &Decision) -> Line {
    let told = ["project", "file", "locale", "count"].into_iter();
    let parts: Vec<String> = told.filter_map(|name| decision.action.get(name).map(text)).collect();
    Line {
        id: decision.decision_id.clone(),
        kind: if decision.subject.kind == "licence" { "approvals.licence" } else { "approvals.request" },
        about: parts.join(" · "),
        created_at: decision.created_at.clone(),
        expires_at: decision.expires_at.clone(),
        status: decision.status.clone(),
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
    let found = found.into_iter().map(read).collect::<Result<Vec<Decision>, _>>()?;
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
    let found: Decision = read(found)?;
    let status = if refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    let is_open = found.status == "pending" && is_embedded(&console.app.localization);
    let page = ApprovalPage {
        frame: member.frame,
        line: line(&found),
        facts: found.action.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        items: items(&found.context),
        context: found.context.to_string(),
        policy: found.policy,
        context_hash: found.context_hash,
        approvals: found.approvals.into_iter().map(|approval| approval.by).collect(),
        approvals_needed: found.approvals_needed,
        decided_by: found.decided_by,
        reason: found.reason,
        may: is_open && !is_own,
        is_own,
        refused,
        typed,
    };
    Ok(answer(status, &page))
}

/// The texts that a context has.
fn items(context: &Value) -> Vec<Item> {
    let of = |item: &Value, name: &str| item.get(name).map(shown).unwrap_or_default();
    let item = |item: &Value| Item { key: of(item, "key"), source: of(item, "source"), target: of(item, "target") };
    context.get("items").and_then(Value::as_array).into_iter().flatten().map(item).collect()
}

/// A text, or the forms of a plural by the line.
fn shown(value: &Value) -> String {
    let Some(forms) = value.as_object() else { return text(value) };
    forms.iter().map(|(category, form)| format!("{category}: {}", text(form))).collect::<Vec<_>>().join("\n")
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
