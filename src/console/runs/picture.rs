//! Graphs as the room draws them. A page shows them as pictures, which run nothing.

use axum::extract::{Path, RawQuery};
use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::CONTENT_TYPE;
use quintet_platform::http::query::encode_segment;

use crate::console::address::{query, with_query};
use crate::console::notice::Notice;
use crate::console::rooms::{Room, With};
use crate::console::visitor::Member;

/// A workflow with the states of its nodes.
pub async fn of_workflow(member: Member, Path(workflow): Path<String>) -> Result<Response, Notice> {
    drawn(member, &format!("/api/v1/workflows/{}/graph.svg", encode_segment(&workflow))).await
}

/// A template as it is written.
pub async fn of_template(
    member: Member,
    Path(template): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let version = query(raw.as_deref())?.take("version");
    let path = format!("/api/v1/templates/{}/graph.svg", encode_segment(&template));
    drawn(member, &with_query(&path, version.as_deref().map(|version| ("version", version)))).await
}

async fn drawn(member: Member, address: &str) -> Result<Response, Notice> {
    let drawn = member.asking.response(Room::Runs, Method::GET, address, With::default()).await?;
    match drawn.status().as_u16() {
        200 => Ok(([(CONTENT_TYPE, "image/svg+xml")], drawn.into_body()).into_response()),
        400..=499 => Err(Notice::NotFound),
        _ => Err(Notice::Unavailable),
    }
}
