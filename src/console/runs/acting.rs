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

/// The longest refusal that is read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

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

/// Asks for a change; what it was refused with. Some answers have no body.
pub async fn ask(
    asking: &Asking,
    method: Method,
    address: &str,
    body: Option<&Value>,
    once: &str,
) -> Result<Option<Refused>, Notice> {
    let with = body.map_or_else(With::default, With::json).once(once);
    let response = asking.response(Room::Runs, method, address, with).await?;
    let status = response.status();
    if status.is_success() {
        return Ok(None);
    }
    if status == StatusCode::NOT_FOUND {
        return Err(Notice::NotFound);
    }
    let body = axum::body::to_bytes(response.into_body(), REFUSAL_BYTES_MAX).await.map_err(|_| Notice::Unavailable)?;
    let said: Refused = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(Refused { status: status.as_u16(), ..said }))
}

/// The status of a page that may show a refusal.
pub fn status(refused: Option<&Refused>) -> StatusCode {
    refused.map_or(StatusCode::OK, |refused| StatusCode::from_u16(refused.status).unwrap_or(StatusCode::CONFLICT))
}
