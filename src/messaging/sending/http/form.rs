//! Reading what is to be sent: members in the order of the documentation, each with its bounds.

use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{Fields, Json};
use quintet_storage::Uuid;

use super::super::model::{Course, Wants};
use crate::form::{optional, required};
use crate::identity::Priority;
use crate::mail::recipients::Typed;
use crate::model::ThreadId;
use crate::refusal::Refusal;
use crate::words::subject::SUBJECT_BYTES_MAX;

/// What a request asks to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) course: Course,
    pub(super) priority: Priority,
    pub(super) wants: Wants,
    pub(super) text: String,
}

/// POST /v1/messages
pub(super) fn read_message(fields: &mut Fields, own_name: &str) -> Result<Asked, Refusal> {
    let typed = typed(fields, own_name)?;
    let subject = subject(fields)?.unwrap_or_default();
    // One that nothing is named by leads to no thread, as others that lead to none.
    let thread = optional::<String>(fields, "thread_id")?;
    let thread = thread.map(|text| ThreadId(parse_ulid(&text).unwrap_or(Uuid::nil())));
    Ok(Asked {
        course: Course::New { typed, subject, thread },
        priority: priority(fields)?,
        wants: wants(fields)?,
        text: text(fields)?,
    })
}

/// Recipients as typed. A null among them means the agent that acts.
fn typed(fields: &mut Fields, own_name: &str) -> Result<Typed, Refusal> {
    let to = required::<Vec<Json>>(fields, "to")?;
    let cc = optional::<Vec<Json>>(fields, "cc")?.unwrap_or_default();
    Ok(Typed { to: names("to", to, own_name)?, cc: names("cc", cc, own_name)? })
}

fn names(list: &str, items: Vec<Json>, own_name: &str) -> Result<Vec<String>, Refusal> {
    let name = |(place, item): (usize, Json)| match item {
        Json::String(text) => Ok(text),
        Json::Null if !own_name.is_empty() => Ok(own_name.to_owned()),
        _ => Err(Refusal::field(format!("{list}[{place}]"), "must be a string")),
    };
    items.into_iter().enumerate().map(name).collect()
}

fn subject(fields: &mut Fields) -> Result<Option<String>, Refusal> {
    let Some(subject) = optional::<String>(fields, "subject")? else { return Ok(None) };
    if subject.len() > SUBJECT_BYTES_MAX || subject.chars().any(char::is_control) {
        let problem = format!("must have at most {SUBJECT_BYTES_MAX} bytes, none of them of a control character");
        return Err(Refusal::field("subject", problem));
    }
    Ok(Some(subject))
}

fn priority(fields: &mut Fields) -> Result<Priority, Refusal> {
    let Some(name) = optional::<String>(fields, "priority")? else { return Ok(Priority::Normal) };
    Priority::named(&name).ok_or_else(|| Refusal::field("priority", "must be urgent, normal or background"))
}

fn wants(fields: &mut Fields) -> Result<Wants, Refusal> {
    Ok(Wants {
        available: optional(fields, "require_available")?.unwrap_or(false),
        responsive: optional(fields, "require_responsive")?.unwrap_or(false),
    })
}

fn text(fields: &mut Fields) -> Result<String, Refusal> {
    Ok(optional(fields, "text")?.unwrap_or_default())
}
