//! Webhooks: the endpoints, what was delivered to them, and delivering it again.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use quintet_platform::http::query::encode_segment;

use super::acting::{self, May, may};
use super::listed::{Listed, listed};
use super::states::{look, word};
use super::wire::{Deliveries, Delivery, Endpoint};
use crate::console::address::{query, said, with_query};
use crate::console::door::Console;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Refused, Room};
use crate::console::visitor::Member;

/// The list.
#[derive(Template)]
#[template(path = "webhooks.html", config = "assets/console/askama.toml")]
struct WebhooksPage {
    frame: Frame,
    endpoints: Vec<Endpoint>,
    next: Option<String>,
    is_first: bool,
}

/// One of them.
#[derive(Template)]
#[template(path = "webhook.html", config = "assets/console/askama.toml")]
struct WebhookPage {
    frame: Frame,
    endpoint: Endpoint,
    /// The newest first.
    deliveries: Vec<Delivery>,
    older: Option<String>,
    is_newest: bool,
    may: May,
    once: String,
    refused: Option<Refused>,
}

/// The list.
pub async fn list(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let Listed { items: endpoints, next, is_first } =
        listed(&member, raw.as_deref(), "/api/v1/webhooks", "/webhooks").await?;
    Ok(answer(StatusCode::OK, &WebhooksPage { frame: member.frame, endpoints, next, is_first }))
}

/// One of them.
pub async fn show(
    State(console): State<Console>,
    member: Member,
    Path(endpoint): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let before = said(&mut query(raw.as_deref())?, "before");
    page(&console, member, &endpoint, before, None).await
}

async fn page(
    console: &Console,
    member: Member,
    id: &str,
    before: Option<String>,
    refused: Option<Refused>,
) -> Result<Response, Notice> {
    let may = may(console, &member)?;
    let base = format!("/api/v1/webhooks/{}", encode_segment(id));
    let endpoint: Endpoint = member.asking.get(Room::Runs, &base).await?;
    let asked = [("limit", "100")].into_iter().chain(before.as_deref().map(|before| ("before", before)));
    let mut found: Deliveries =
        member.asking.get(Room::Runs, &with_query(&format!("{base}/deliveries"), asked)).await?;
    found.items.reverse();
    let own = format!("/webhooks/{}", encode_segment(&endpoint.endpoint_id));
    let older = found.next_before.map(|before| with_query(&own, [("before", before.to_string().as_str())]));
    let status = acting::status(refused.as_ref());
    let page = WebhookPage {
        frame: member.frame,
        endpoint,
        deliveries: found.items,
        older,
        is_newest: before.is_none(),
        may,
        once: form::once(),
        refused,
    };
    Ok(answer(status, &page))
}

/// Delivers something again, or tries the endpoint.
pub async fn take(
    State(console): State<Console>,
    member: Member,
    Path(endpoint): Path<String>,
    body: Body,
) -> Result<Response, Notice> {
    let said = acting::read(body).await?;
    let id = encode_segment(&endpoint);
    let address = match said.act.as_str() {
        "redeliver" => format!("/api/v1/webhooks/deliveries/{}/redeliver", encode_segment(&said.of)),
        "test" => format!("/api/v1/webhooks/{id}/test"),
        _ => return Err(Notice::Malformed),
    };
    match acting::ask(&member.asking, Method::POST, &address, None, &said.once).await? {
        None => Ok(Redirect::to(&format!("/webhooks/{id}")).into_response()),
        refused => page(&console, member, &endpoint, None, refused).await,
    }
}
