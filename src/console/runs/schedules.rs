//! Schedules: the instants at which they tell their webhooks.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use quintet_platform::http::query::encode_segment;

use super::acting::{self, May, may};
use super::listed::{Listed, listed};
use super::wire::Schedule;
use crate::console::door::Console;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room};
use crate::console::visitor::Member;

/// The list.
#[derive(Template)]
#[template(path = "schedules.html", config = "assets/console/askama.toml")]
struct SchedulesPage {
    frame: Frame,
    schedules: Vec<Schedule>,
    next: Option<String>,
    is_first: bool,
}

/// One of them.
#[derive(Template)]
#[template(path = "schedule.html", config = "assets/console/askama.toml")]
struct SchedulePage {
    frame: Frame,
    schedule: Schedule,
    may: May,
    once: String,
    refused: Option<Refused>,
}

/// The list.
pub async fn list(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let Listed { items: schedules, next, is_first } =
        listed(&member, raw.as_deref(), "/api/v1/schedules", "/schedules").await?;
    Ok(answer(StatusCode::OK, &SchedulesPage { frame: member.frame, schedules, next, is_first }))
}

/// One of them.
pub async fn show(
    State(console): State<Console>,
    member: Member,
    Path(schedule): Path<String>,
) -> Result<Response, Notice> {
    page(&console, member, &schedule, None).await
}

async fn page(console: &Console, member: Member, id: &str, refused: Option<Refused>) -> Result<Response, Notice> {
    let may = may(console, &member)?;
    let address = format!("/api/v1/schedules/{}", encode_segment(id));
    let schedule: Schedule = member.asking.get(Room::Runs, &address).await?;
    let status = acting::status(refused.as_ref());
    Ok(answer(status, &SchedulePage { frame: member.frame, schedule, may, once: form::once(), refused }))
}

/// Pauses it, or has it go on.
pub async fn take(
    State(console): State<Console>,
    member: Member,
    Path(schedule): Path<String>,
    body: Body,
) -> Result<Response, Notice> {
    let said = acting::read(body).await?;
    if !["pause", "resume"].contains(&said.act.as_str()) {
        return Err(Notice::Malformed);
    }
    let id = encode_segment(&schedule);
    let address = format!("/api/v1/schedules/{id}/{}", said.act);
    match acting::ask(&member.asking, Method::POST, &address, None, &said.once).await? {
        None => Ok(Redirect::to(&format!("/schedules/{id}")).into_response()),
        refused => page(&console, member, &schedule, refused).await,
    }
}
