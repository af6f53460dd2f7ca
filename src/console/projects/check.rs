//! What the checks say of what is being typed, for the editor's script. Nothing is stored.

use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::filters::Place;
use super::save::read;
use super::wire::{Annotations, Check};
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::rooms::{Room, With};
use crate::console::visitor::Member;

/// The largest form, in bytes: what is longer is checked when it is saved.
const FORM_BYTES_MAX: usize = 512 << 10;

/// The checks that fail; and what the room refuses, as one more.
pub async fn answer(
    member: Member,
    Path((project, locale)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Notice> {
    let place = Place { project, locale };
    let mut form = form::read_of(body, FORM_BYTES_MAX, "").await?;
    let sent = read(&member.asking, &place, &mut form).await?;
    let address = place.of_key(&sent.key.id, "check");
    let asked = member.asking.ask::<Annotations>(Room::Localization, Method::POST, &address, With::json(&sent.body()));
    let checks: Vec<Value> = match asked.await? {
        Ok(found) => found.checks.iter().filter(|check| check.status == "fail").map(told).collect(),
        Err(refused) => {
            let says = refused.detail.unwrap_or(refused.title);
            vec![json!({"check": "", "name": says, "blocking": true, "detail": null})]
        }
    };
    let body = json!({"checks": checks}).to_string();
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

fn told(check: &Check) -> Value {
    json!({"check": check.check, "name": check.name, "blocking": check.blocking, "detail": check.detail})
}
