//! Timers: when they tell their webhooks, and what became of it.

use askama::Template;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::Method;
use quintet_platform::http::query::encode_segment;

use super::acting::{self, May, may};
use super::list::Filters;
use super::states::{OF_TIMERS, look, word};
use super::wire::{Page, Timer};
use crate::console::door::Console;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room};
use crate::console::visitor::Member;

/// The list.
#[derive(Template)]
#[template(path = "timers.html", config = "assets/console/askama.toml")]
struct TimersPage {
    frame: Frame,
    timers: Vec<Timer>,
    states: [&'static str; 3],
    filters: Filters,
    next: Option<String>,
    first: Option<String>,
    may: May,
    once: String,
    refused: Option<Refused>,
}

/// The page.
pub async fn show(State(console): State<Console>, member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    page(&console, member, Filters::read(raw.as_deref())?, None).await
}

async fn page(
    console: &Console,
    member: Member,
    filters: Filters,
    refused: Option<Refused>,
) -> Result<Response, Notice> {
    let may = may(console, &member)?;
    let found: Page<Timer> = member.asking.get(Room::Runs, &filters.asked("/api/v1/timers")).await?;
    let status = acting::status(refused.as_ref());
    let page = TimersPage {
        frame: member.frame,
        timers: found.items,
        states: OF_TIMERS,
        next: found.next_cursor.map(|cursor| filters.from("/timers", &cursor)),
        first: (!filters.cursor.is_empty()).then(|| filters.from("/timers", "")),
        filters,
        may,
        once: form::once(),
        refused,
    };
    Ok(answer(status, &page))
}

/// Cancels one.
pub async fn take(State(console): State<Console>, member: Member, body: Body) -> Result<Response, Notice> {
    let said = acting::read(body).await?;
    if said.act != "cancel" {
        return Err(Notice::Malformed);
    }
    let address = format!("/api/v1/timers/{}", encode_segment(&said.of));
    match acting::ask(&member.asking, Method::DELETE, &address, None, &said.once).await? {
        None => Ok(Redirect::to("/timers").into_response()),
        refused => page(&console, member, Filters::default(), refused).await,
    }
}
