//! Members and what they were granted.

use std::collections::BTreeMap;

use askama::Template;
use axum::body::Body;
use axum::extract::RawQuery;
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use quintet_localization::operator::template_names;
use quintet_platform::http::query::encode_segment;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::console::address::query;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Asking, Refused, Room, With};
use crate::console::visitor::Member;

#[derive(Deserialize)]
struct Person {
    id: String,
    status: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    display_name: String,
    created_at: String,
}

#[derive(Deserialize)]
struct People {
    members: Vec<Person>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Grant {
    id: String,
    principal_id: String,
    template: String,
    scope: BTreeMap<String, String>,
    state: String,
}

#[derive(Deserialize)]
struct Grants {
    grants: Vec<Grant>,
}

/// A grant of a person.
struct GrantLine {
    id: String,
    says: String,
    state: String,
}

/// A person of the list.
struct PersonLine {
    person: Person,
    grants: Vec<GrantLine>,
    is_live: bool,
}

/// The page.
#[derive(Template)]
#[template(path = "people.html", config = "assets/console/askama.toml")]
struct PeoplePage {
    frame: Frame,
    lines: Vec<PersonLine>,
    templates: Vec<&'static str>,
    next: Option<String>,
    once: String,
    refused: Option<Refused>,
}

/// The page.
pub async fn show(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let cursor = query(raw.as_deref())?.take("cursor");
    page(member, cursor, None).await
}

async fn page(member: Member, cursor: Option<String>, refused: Option<Refused>) -> Result<Response, Notice> {
    let from = cursor.map(|cursor| format!("&cursor={}", encode_segment(&cursor))).unwrap_or_default();
    let people: People = member.asking.get(Room::Localization, &format!("/v1/members?limit=100{from}")).await?;
    let mut grants = grants(&member.asking).await?;
    let line = |person: Person| PersonLine {
        grants: grants.remove(&person.id).unwrap_or_default(),
        is_live: matches!(person.status.as_str(), "pending" | "active"),
        person,
    };
    let page = PeoplePage {
        frame: member.frame,
        lines: people.members.into_iter().map(line).collect(),
        templates: template_names().collect(),
        next: people.next_cursor.map(|cursor| format!("/people?cursor={}", encode_segment(&cursor))),
        once: form::once(),
        refused,
    };
    let status = if page.refused.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok(answer(status, &page))
}

/// Grants that still confer something, by whom they were given to.
async fn grants(asking: &Asking) -> Result<BTreeMap<String, Vec<GrantLine>>, Notice> {
    let found: Grants = asking.get(Room::Localization, "/v1/grants").await?;
    let mut all: BTreeMap<String, Vec<GrantLine>> = BTreeMap::new();
    for grant in found.grants.into_iter().filter(|grant| grant.state != "revoked") {
        let says = std::iter::once(grant.template).chain(grant.scope.into_values()).collect::<Vec<_>>().join(" ");
        all.entry(grant.principal_id).or_default().push(GrantLine { id: grant.id, says, state: grant.state });
    }
    Ok(all)
}

/// Invites, removes, grants or takes back.
pub async fn take(member: Member, body: Body) -> Result<Response, Notice> {
    let mut form = form::read(body).await?;
    let mut text = |name: &str| form.take(name).unwrap_or_default();
    let (act, once) = (text("act"), text("once"));
    let (method, address, with) = match act.as_str() {
        "invite" => {
            (Method::POST, "/v1/members".to_owned(), With::json(&json!({"email": text("email").trim()})).once(&once))
        }
        "remove" => (Method::DELETE, format!("/v1/members/{}", encode_segment(&text("member"))), With::default()),
        "grant" => {
            let scope = scope(&text("locale"), &text("project"));
            let body = json!({"principal_id": text("member"), "template": text("template"), "scope": scope});
            (Method::POST, "/v1/grants".to_owned(), With::json(&body).once(&once))
        }
        "revoke" => (Method::DELETE, format!("/v1/grants/{}", encode_segment(&text("grant"))), With::default()),
        _ => return Err(Notice::Malformed),
    };
    match member.asking.change(Room::Localization, method, &address, with).await? {
        Ok(_) => Ok(Redirect::to("/people").into_response()),
        Err(refused) => page(member, None, Some(refused)).await,
    }
}

/// Where a grant holds; what is not said is everywhere.
fn scope(locale: &str, project: &str) -> Value {
    let said = [("locale", locale.trim()), ("project_id", project.trim())];
    let said = said.into_iter().filter(|(_, text)| !text.is_empty());
    Value::Object(said.map(|(name, text)| (name.to_owned(), json!(text))).collect::<Map<_, _>>())
}
