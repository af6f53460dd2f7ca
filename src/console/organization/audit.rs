//! The audit chain: what was done, and whether the chain holds.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::console::address::query;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// Events of a page.
const PAGE_ROWS: u64 = 100;

#[derive(Deserialize)]
struct Event {
    seq: u64,
    occurred_at: String,
    actor_kind: String,
    actor_id: String,
    action: String,
    target_type: String,
    target_id: String,
    payload: Option<Value>,
}

#[derive(Deserialize)]
struct Events {
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Break {
    seq: u64,
    kind: String,
    detail: String,
}

#[derive(Deserialize)]
struct Verified {
    events: u64,
    breaks: Vec<Break>,
    checkpoints_verified: u64,
    anchors_verified: u64,
    head_seq: u64,
}

/// The page.
#[derive(Template)]
#[template(path = "audit.html", config = "assets/console/askama.toml")]
struct AuditPage {
    frame: Frame,
    events: Vec<Event>,
    older: Option<u64>,
    newer: Option<u64>,
    verified: Option<Verified>,
}

/// The page: the newest events, or those up to a number.
pub async fn show(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let mut asked = query(raw.as_deref())?;
    let to = asked.take("to").map(|text| text.parse::<u64>().map_err(|_| Notice::Malformed)).transpose()?;
    page(member, to, None).await
}

/// The page, with what a walk along the whole chain finds.
pub async fn verify(member: Member) -> Result<Response, Notice> {
    let verified: Verified = member.asking.get(Room::Localization, "/v1/audit/verify").await?;
    page(member, None, Some(verified)).await
}

async fn page(member: Member, to: Option<u64>, verified: Option<Verified>) -> Result<Response, Notice> {
    let head = head(&member).await?;
    let to = to.unwrap_or(head).min(head);
    let after = to.saturating_sub(PAGE_ROWS);
    let address = format!("/v1/audit/events?after_seq={after}&limit={}", (to - after).max(1));
    let mut found: Events = member.asking.get(Room::Localization, &address).await?;
    found.events.reverse();
    let newer = (to < head).then(|| (to + PAGE_ROWS).min(head));
    let page =
        AuditPage { frame: member.frame, events: found.events, older: (after > 0).then_some(after), newer, verified };
    Ok(answer(StatusCode::OK, &page))
}

/// The number of the newest event: found by halving, for the list is told from the oldest on.
async fn head(member: &Member) -> Result<u64, Notice> {
    let (mut known, mut step) = (0_u64, 1_u64);
    // Beyond the end there is nothing: ever wider steps, then ever narrower ones.
    while is_there(member, known + step).await? {
        known += step;
        step = step.saturating_mul(2);
    }
    while step > 1 {
        step /= 2;
        if is_there(member, known + step).await? {
            known += step;
        }
    }
    Ok(known)
}

async fn is_there(member: &Member, seq: u64) -> Result<bool, Notice> {
    let address = format!("/v1/audit/events?after_seq={}&limit=1", seq - 1);
    let found: Events = member.asking.get(Room::Localization, &address).await?;
    Ok(!found.events.is_empty())
}
