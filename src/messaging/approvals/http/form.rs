//! What a request says of an approval (P2).

use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{Fields, Json};
use quintet_platform::secrets::Digest;

use super::super::action::Matter;
use super::super::model::{GENERIC, SUMMARY_CHARS_MAX, TITLE_CHARS_MAX, check_kind, check_minutes};
use crate::form::{line, optional, required};
use crate::model::ThreadId;
use crate::refusal::Refusal;

/// An approval as it is asked for.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) title: String,
    pub(super) kind: String,
    pub(super) thread: Option<ThreadId>,
    pub(super) matter: (Matter, Digest),
    pub(super) expires_minutes: Option<i64>,
}

/// Reads it.
///
/// # Errors
/// The first member that is wrong.
pub(super) fn read(fields: &mut Fields) -> Result<Said, Refusal> {
    let title = line("title", required(fields, "title")?, TITLE_CHARS_MAX)?;
    if title.trim().is_empty() {
        return Err(Refusal::field("title", "must say what is to be approved"));
    }
    let kind = optional::<String>(fields, "kind")?.unwrap_or_else(|| GENERIC.to_owned());
    check_kind(&kind)?;
    let summary = optional::<String>(fields, "summary")?;
    if summary.as_ref().is_some_and(|summary| summary.chars().count() > SUMMARY_CHARS_MAX) {
        return Err(Refusal::field("summary", format!("must have at most {SUMMARY_CHARS_MAX} characters")));
    }
    let (action, context) = (object(fields, "proposed_action")?, object(fields, "context")?);
    let matter = Matter::of(summary, &action, &context)?;
    // A thread that is none is as absent as one that the agent has no part in.
    let thread = optional::<String>(fields, "thread_id")?;
    let none = || Refusal::NotFound("such thread".to_owned());
    let thread = thread.map(|id| parse_ulid(&id).map(ThreadId).ok_or_else(none)).transpose()?;
    let expires_minutes = optional::<i64>(fields, "expires_in_minutes")?;
    expires_minutes.map_or(Ok(()), check_minutes)?;
    Ok(Said { title, kind, thread, matter, expires_minutes })
}

/// What must be an object where it is there, and is an empty one where it is not.
fn object(fields: &mut Fields, name: &str) -> Result<Json, Refusal> {
    Ok(optional(fields, name)?.unwrap_or(Json::Object(Vec::new())))
}
