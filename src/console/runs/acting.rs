//! What the buttons of these pages ask the room for, and whether a member sees them at all.

use axum::body::Body;
use http::{Method, StatusCode};
use quintet_platform::people::permits_of;
use serde_json::Value;

use crate::console::door::Console;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::rooms::{Asking, Refused, Room, With};
use crate::console::visitor::Member;

/// What a member may do with what the pages show. The room asks again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct May {
    /// Start and change.
    pub submit: bool,
    /// Pause, stop, decide.
    pub control: bool,
}

/// What this one may.
pub fn may(console: &Console, member: &Member) -> Result<May, Notice> {
    let (tenant_id, member_id) = (member.session.tenant_id, member.session.principal_id);
    let permits = permits_of(&console.app.store.read(), tenant_id, member_id)?;
    let has = |name: &str| permits.iter().any(|permit| permit == name);
    Ok(May { submit: has("svc_run_submit"), control: has("svc_run_control") })
}

/// What a form of these pages says.
pub struct Act {
    /// Which button.
    pub act: String,
    /// What makes it one change.
    pub once: String,
    /// What it is about, where a page has several.
    pub of: String,
    /// What was typed besides.
    pub comment: String,
}

/// Reads such a form.
pub async fn read(body: Body) -> Result<Act, Notice> {
    let mut form = form::read(body).await?;
    let mut text = |name: &str| form.take(name).unwrap_or_default();
    Ok(Act { act: text("act"), once: text("once"), of: text("of"), comment: text("comment") })
}

/// Asks for a change; what it was refused with.
pub async fn ask(
    asking: &Asking,
    method: Method,
    address: &str,
    body: Option<&Value>,
    once: &str,
) -> Result<Option<Refused>, Notice> {
    let with = body.map_or_else(With::default, With::json).once(once);
    let refused = asking.change(Room::Runs, method, address, with).await?.err();
    // What is not there has no page that could tell so.
    if refused.as_ref().is_some_and(|refused| refused.status == StatusCode::NOT_FOUND.as_u16()) {
        return Err(Notice::NotFound);
    }
    Ok(refused)
}

/// The status of a page that may show a refusal.
pub fn status(refused: Option<&Refused>) -> StatusCode {
    refused.map_or(StatusCode::OK, |refused| StatusCode::from_u16(refused.status).unwrap_or(StatusCode::CONFLICT))
}
