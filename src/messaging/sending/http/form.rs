//! Reading what is to be sent: members in the order of the documentation, each with its bounds.

use data_encoding::BASE64;
use quintet_platform::ids::parse_ulid;
use quintet_platform::json::{Fields, Json, to_compact};
use quintet_storage::Uuid;

use super::super::model::{Asked, Course, Given, Reply, Spoken, Wants};
use crate::form::{field, line, optional, required, texts};
use crate::identity::Priority;
use crate::mail::recipients::Typed;
use crate::model::{MailId, ThreadId};
use crate::refusal::Refusal;
use crate::words::sealed::is_sealed;
use crate::words::subject::SUBJECT_BYTES_MAX;

/// The most bytes of a text, of HTML, of a payload.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// The most attachments of a message.
const ATTACHMENTS_MAX: usize = 100;
/// The most characters of a file's name.
const FILENAME_CHARS_MAX: usize = 255;
/// The most messages that one says to be derived from, and characters of each id.
const DERIVED_MAX: usize = 25;
const ID_CHARS_MAX: usize = 64;
/// The most characters of a signature, of the fingerprint of its key, of whom something was taken over from.
const SIGNATURE_CHARS_MAX: usize = 512;
const FINGERPRINT_CHARS_MAX: usize = 64;
const HANDOFF_CHARS_MAX: usize = 32;
/// For how long a message can be waited for to be acknowledged, in seconds.
const ACK_WINDOW_SECONDS: std::ops::RangeInclusive<i64> = 60..=604_800;
const ACK_WINDOW_SECONDS_USUAL: i64 = 86_400;

/// POST /v1/messages
pub(crate) fn read_message(fields: &mut Fields, own_name: &str) -> Result<(Asked, Spoken), Refusal> {
    let typed = typed(fields, own_name)?;
    let subject = subject(fields)?.unwrap_or_default();
    // One that nothing is named by leads to no thread, as others that lead to none.
    let thread = optional::<String>(fields, "thread_id")?;
    let thread = thread.map(|text| ThreadId(parse_ulid(&text).unwrap_or(Uuid::nil())));
    let is_ephemeral = is_ephemeral(fields)?;
    let asked = asked(fields, Course::New { typed, subject, thread }, is_ephemeral)?;
    let spoken = read_spoken(fields)?;
    if is_ephemeral && let Some(member) = lasting(&asked, &spoken) {
        return Err(Refusal::field(member, "cannot be given with fire_and_forget, of which nothing is stored"));
    }
    Ok((asked, spoken))
}

/// The first member that means something only of what is stored.
fn lasting(asked: &Asked, spoken: &Spoken) -> Option<&'static str> {
    let members = [
        ("attachments", !spoken.attachments.is_empty()),
        ("require_ack", asked.ack_window_seconds.is_some()),
        ("claim", spoken.claim.is_some()),
        ("derived_from", !spoken.derived_from.is_empty()),
        ("handoff_from", spoken.handoff_from.is_some()),
    ];
    members.into_iter().find(|(_, is_given)| *is_given).map(|(member, _)| member)
}

/// POST /v1/messages/{message_id}/reply
pub(super) fn read_reply(fields: &mut Fields, parent: MailId) -> Result<(Asked, Spoken), Refusal> {
    let reply = read_course(fields, parent)?;
    let asked = asked(fields, Course::Reply(reply), false)?;
    Ok((asked, read_spoken(fields)?))
}

/// What a reply says of whom it is for.
pub(super) fn read_course(fields: &mut Fields, parent: MailId) -> Result<Reply, Refusal> {
    Ok(Reply {
        parent,
        to_all: optional(fields, "reply_all")?.unwrap_or(false),
        cc: texts(fields, "cc", usize::MAX)?,
        subject: subject(fields)?,
    })
}

fn asked(fields: &mut Fields, course: Course, is_ephemeral: bool) -> Result<Asked, Refusal> {
    let priority = match optional::<String>(fields, "priority")? {
        None => Priority::Normal,
        Some(name) => {
            Priority::named(&name).ok_or_else(|| Refusal::field("priority", "must be urgent, normal or background"))?
        }
    };
    let wants = Wants {
        available: optional(fields, "require_available")?.unwrap_or(false),
        responsive: optional(fields, "require_responsive")?.unwrap_or(false),
    };
    let ack_window_seconds = ack_window(fields)?;
    Ok(Asked { course, priority, wants, ack_window_seconds, is_ephemeral })
}

/// Recipients as typed. A null among them means the agent that acts.
pub(super) fn typed(fields: &mut Fields, own_name: &str) -> Result<Typed, Refusal> {
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

/// What a message is about.
pub(crate) fn subject(fields: &mut Fields) -> Result<Option<String>, Refusal> {
    let Some(subject) = optional::<String>(fields, "subject")? else { return Ok(None) };
    if subject.len() > SUBJECT_BYTES_MAX || subject.chars().any(char::is_control) {
        let problem = format!("must have at most {SUBJECT_BYTES_MAX} bytes, none of them of a control character");
        return Err(Refusal::field("subject", problem));
    }
    Ok(Some(subject))
}

fn is_ephemeral(fields: &mut Fields) -> Result<bool, Refusal> {
    match optional::<String>(fields, "guarantee")?.as_deref() {
        None | Some("durable") => Ok(false),
        Some("fire_and_forget") => Ok(true),
        Some(_) => Err(Refusal::field("guarantee", "must be durable or fire_and_forget")),
    }
}

fn ack_window(fields: &mut Fields) -> Result<Option<i64>, Refusal> {
    let is_wanted = optional(fields, "require_ack")?.unwrap_or(false);
    let seconds = optional::<i64>(fields, "ack_window_seconds")?.unwrap_or(ACK_WINDOW_SECONDS_USUAL);
    if !ACK_WINDOW_SECONDS.contains(&seconds) {
        return Err(Refusal::field("ack_window_seconds", "must be from 60 to 604800"));
    }
    Ok(if is_wanted { Some(seconds) } else { None })
}

/// A text of at most a mebibyte.
pub(crate) fn long_text(fields: &mut Fields, name: &'static str) -> Result<Option<String>, Refusal> {
    let text = optional::<String>(fields, name)?;
    match text {
        Some(text) if text.len() > TEXT_BYTES_MAX => Err(Refusal::TooLarge(name, TEXT_BYTES_MAX as u64)),
        text => Ok(text),
    }
}

fn short_text(fields: &mut Fields, name: &str, most: usize) -> Result<Option<String>, Refusal> {
    optional::<String>(fields, name)?.map(|text| line(name, text, most)).transpose()
}

/// A signature, and the fingerprint of its key.
pub(crate) fn signature(fields: &mut Fields) -> Result<Option<(String, Option<String>)>, Refusal> {
    let signature = short_text(fields, "signature", SIGNATURE_CHARS_MAX)?;
    let fingerprint = short_text(fields, "signing_key_fingerprint", FINGERPRINT_CHARS_MAX)?;
    Ok(signature.map(|signature| (signature, fingerprint)))
}

fn read_spoken(fields: &mut Fields) -> Result<Spoken, Refusal> {
    let payload = fields.take("payload").filter(|payload| *payload != Json::Null);
    if payload.as_ref().is_some_and(|payload| to_compact(payload).len() > TEXT_BYTES_MAX) {
        return Err(Refusal::TooLarge("payload", TEXT_BYTES_MAX as u64));
    }
    let derived_from = texts(fields, "derived_from", DERIVED_MAX)?;
    for text in &derived_from {
        line("derived_from", text.clone(), ID_CHARS_MAX)?;
    }
    Ok(Spoken {
        text: long_text(fields, "text")?.unwrap_or_default(),
        html: long_text(fields, "html")?,
        payload,
        is_sealed: optional(fields, "sealed")?.unwrap_or(false),
        signature: signature(fields)?,
        claim: fields.take("claim").filter(|claim| *claim != Json::Null).map(claim),
        derived_from,
        handoff_from: short_text(fields, "handoff_from", HANDOFF_CHARS_MAX)?,
        attachments: attachments(fields)?,
    })
}

/// What a message claims, with the members that a claim has (6-messaging.md, D4).
fn claim(given: Json) -> Result<Json, Refusal> {
    let mut fields = Fields::at("claim", given).map_err(field)?;
    let text = |fields: &mut Fields, name: &str, most: usize| -> Result<Option<String>, Refusal> {
        let text = optional::<String>(fields, name)?;
        if text.as_ref().is_some_and(|text| text.chars().count() > most) {
            return Err(Refusal::field(fields.path_of(name), format!("must have at most {most} characters")));
        }
        Ok(text)
    };
    let is_missing = |name: &str| Refusal::field(format!("claim.{name}"), "is required");
    let assert_text = text(&mut fields, "assert_text", 2_000)?.ok_or_else(|| is_missing("assert_text"))?;
    let repro = text(&mut fields, "repro", 8_000)?.ok_or_else(|| is_missing("repro"))?;
    let interpreter = text(&mut fields, "interpreter", 200)?;
    let context = text(&mut fields, "context", 4_000)?;
    let given = fields.take("expect").filter(|given| *given != Json::Null).ok_or_else(|| is_missing("expect"))?;
    let exit: u8 = required(&mut Fields::at("claim.expect", given).map_err(field)?, "exit")?;
    Ok(Json::object([
        ("assert_text", Json::from(assert_text)),
        ("repro", repro.into()),
        ("interpreter", interpreter.into()),
        ("expect", Json::object([("exit", Json::from(u64::from(exit)))])),
        ("context", context.into()),
    ]))
}

fn attachments(fields: &mut Fields) -> Result<Vec<Given>, Refusal> {
    let items = optional::<Vec<Json>>(fields, "attachments")?.unwrap_or_default();
    if items.len() > ATTACHMENTS_MAX {
        return Err(Refusal::field("attachments", format!("must have at most {ATTACHMENTS_MAX} items")));
    }
    items.into_iter().enumerate().map(|(place, item)| attachment(&format!("attachments[{place}]"), item)).collect()
}

fn attachment(path: &str, item: Json) -> Result<Given, Refusal> {
    let mut fields = Fields::at(path, item).map_err(field)?;
    let filename: String = required(&mut fields, "filename")?;
    let filename = line(&fields.path_of("filename"), filename, FILENAME_CHARS_MAX)?;
    if filename.is_empty() {
        return Err(Refusal::field(fields.path_of("filename"), "must not be empty"));
    }
    let content_type = optional::<String>(&mut fields, "content_type")?.filter(|text| !text.is_empty());
    let content_type = content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    // It stands in a header field when the attachment is read.
    let is_media_type = content_type.len() <= 255
        && content_type.contains('/')
        && content_type.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if !is_media_type {
        return Err(Refusal::field(fields.path_of("content_type"), "must be a media type such as text/plain"));
    }
    let base64: String = required(&mut fields, "content_base64")?;
    let content = BASE64.decode(base64.as_bytes());
    let content =
        content.map_err(|_| Refusal::field(fields.path_of("content_base64"), "must be base64 with padding"))?;
    Ok(Given { filename, content_type, base64_bytes: base64.len(), is_sealed: is_sealed(&content), content })
}
