//! What paths and bodies of all folders are read with. Members that nobody knows are passed over: newer clients send them
//! (6-messaging.md, C5).

use quintet_platform::clock::parse_rfc3339;
use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{FieldError, Fields, FromJson, Given, Json};
use quintet_platform::service::{Change, FromSegment, Segment, Shape, failed};
use quintet_storage::Timestamp;

use crate::dialect::{Call, Messaging};
use crate::identity::agents;
use crate::model::{AgentNo, MailId};
use crate::refusal::Refusal;

impl FromSegment for MailId {
    fn from_segment(text: &str) -> Option<MailId> {
        parse_ulid(text).map(MailId::of)
    }
}

/// The agent that a path names.
pub(crate) const AGENT: Segment = Segment::new("name", Shape::ANY);

/// The message that a path names.
pub(crate) const MESSAGE: Segment = Segment::new("message_id", Shape::Ulid);

/// The agent of a request's path, with its name.
pub(crate) fn agent_of(call: &Call) -> Result<(AgentNo, String), Refusal> {
    let name: String = call.segment(AGENT.name).unwrap_or_default();
    let found = agents::by_name(&call.snapshot(), call.caller.workspace.no, &name);
    let no = found.map_err(|failure| failed::<Refusal>(&failure))?;
    Ok((no.ok_or_else(|| Refusal::NotFound(format!("agent {name}")))?, name))
}

/// A member that is wrong.
pub(crate) fn field(error: FieldError) -> Refusal {
    Refusal::field(error.field, error.problem.to_string())
}

/// The members of a body; none at all where there is no body.
pub(crate) fn members(change: &mut Change<Messaging>) -> Result<Fields, Refusal> {
    let body = change.optional_json()?.unwrap_or(Json::Object(Vec::new()));
    Fields::new(body).map_err(field)
}

/// A member that must be there.
pub(crate) fn required<T: FromJson>(fields: &mut Fields, name: &str) -> Result<T, Refusal> {
    fields.required(name).map_err(field)
}

/// A member that may be absent or null.
pub(crate) fn optional<T: FromJson>(fields: &mut Fields, name: &str) -> Result<Option<T>, Refusal> {
    fields.nullable(name).map(Given::value).map_err(field)
}

/// A list of texts; absent and null are the empty one.
pub(crate) fn texts(fields: &mut Fields, name: &str, most: usize) -> Result<Vec<String>, Refusal> {
    let items: Vec<String> = optional(fields, name)?.unwrap_or_default();
    if items.len() > most {
        return Err(Refusal::field(name, format!("must have at most {most} items")));
    }
    Ok(items)
}

/// A text of so many characters without control characters.
pub(crate) fn line(name: &str, text: String, most: usize) -> Result<String, Refusal> {
    if text.chars().count() > most || text.chars().any(char::is_control) {
        return Err(Refusal::field(
            name,
            format!("must have at most {most} characters, none of them a control character"),
        ));
    }
    Ok(text)
}

/// An instant with its offset.
pub(crate) fn instant(fields: &mut Fields, name: &str) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = optional::<String>(fields, name)? else { return Ok(None) };
    let problem = "must be an RFC 3339 instant such as 2026-01-31T09:00:00Z";
    parse_rfc3339(&text).map(Some).map_err(|_| Refusal::field(name, problem))
}
