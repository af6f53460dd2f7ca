//! Reading a reminder. It is the one body whose unknown members are refused (6-messaging.md, C5).

use quintet_platform::clock::parse_rfc3339;
use quintet_platform::json::Fields;
use quintet_platform::zones::Zone;
use quintet_storage::Timestamp;

use super::super::model::{Begins, DELAY_SECONDS_MAX, NewReminder, TEXT_BYTES_MAX};
use super::super::rule::naive_instant;
use crate::form::{field, instant, optional};
use crate::identity::{Attestation, Workspace};
use crate::refusal::Refusal;
use crate::words::sealed::is_as_it_must_be;
use crate::words::subject::SUBJECT_BYTES_MAX;

const UTC: &str = "UTC";
/// What stands before the subject of the message that it fires.
const PREFIX_BYTES: usize = 10;

/// POST /v1/reminders
pub(super) fn read_new(
    mut fields: Fields,
    workspace: &Workspace,
    (attestation, key_id): (Attestation, String),
) -> Result<NewReminder, Refusal> {
    let target = optional::<String>(&mut fields, "target")?;
    let subject = optional::<String>(&mut fields, "subject")?.unwrap_or_default();
    if subject.len() > SUBJECT_BYTES_MAX - PREFIX_BYTES || subject.chars().any(char::is_control) {
        let most = SUBJECT_BYTES_MAX - PREFIX_BYTES;
        return Err(Refusal::field("subject", format!("must have at most {most} bytes, and no control characters")));
    }
    let text = optional::<String>(&mut fields, "text")?.unwrap_or_default();
    let is_sealed = optional::<bool>(&mut fields, "sealed")?.unwrap_or(false);
    let delay = optional::<u64>(&mut fields, "delay_seconds")?;
    if delay.is_some_and(|seconds| !(1..=DELAY_SECONDS_MAX).contains(&seconds)) {
        return Err(Refusal::field("delay_seconds", format!("must be from 1 to {DELAY_SECONDS_MAX}")));
    }
    let due_at = optional::<String>(&mut fields, "due_at")?;
    let expires_at = instant(&mut fields, "expires_at")?;
    let repeat = optional::<String>(&mut fields, "repeat")?;
    let timezone = optional::<String>(&mut fields, "timezone")?.unwrap_or_else(|| UTC.to_owned());
    let unknown = fields.finish().map_err(|unknown| unknown.into_iter().next());
    if let Err(Some(unknown)) = unknown {
        return Err(field(unknown));
    }
    let zone = Zone::named(&timezone).ok_or_else(|| {
        Refusal::field("timezone", "must be UTC or a name of the IANA database with a slash, such as Europe/Berlin")
    })?;
    let begins = begins(delay, due_at.as_deref(), repeat.is_some(), &zone)?;
    if subject.is_empty() && text.is_empty() {
        return Err(Refusal::field("text", "is required where there is no subject"));
    }
    check_sealing(workspace, &text, is_sealed)?;
    if text.len() > TEXT_BYTES_MAX {
        return Err(Refusal::TooLarge("text", TEXT_BYTES_MAX as u64));
    }
    Ok(NewReminder { subject, text, is_sealed, target, begins, expires_at, repeat, timezone, attestation, key_id })
}

fn begins(delay: Option<u64>, due_at: Option<&str>, repeats: bool, zone: &Zone) -> Result<Begins, Refusal> {
    match (delay, due_at) {
        (Some(_), Some(_)) => Err(Refusal::field("due_at", "cannot be given together with delay_seconds")),
        (Some(seconds), None) => Ok(Begins::After(seconds)),
        (None, Some(text)) => Ok(Begins::At(local_instant(text, zone)?)),
        (None, None) if repeats => Ok(Begins::ByRule),
        (None, None) => Err(Refusal::field("due_at", "is required, or delay_seconds, or repeat")),
    }
}

/// An instant with its offset, or without one as the clocks of the zone show it.
fn local_instant(text: &str, zone: &Zone) -> Result<Timestamp, Refusal> {
    let problem = "must be an RFC 3339 instant, or a date and a time such as 2026-01-31 09:00 in the time zone";
    let read = parse_rfc3339(text).ok().or_else(|| naive_instant(text, zone));
    read.ok_or_else(|| Refusal::field("due_at", problem))
}

/// On an encrypted workspace what a reminder says arrives sealed (6-messaging.md, E1).
fn check_sealing(workspace: &Workspace, text: &str, is_sealed: bool) -> Result<(), Refusal> {
    if is_as_it_must_be(workspace.is_encrypted, text, is_sealed) {
        return Ok(());
    }
    Err(Refusal::SealingRequired("text"))
}
