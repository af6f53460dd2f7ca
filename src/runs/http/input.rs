//! What a submission says: members in the order of the documentation, each with its bounds.

use std::net::IpAddr;

use http::Uri;
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::egress::Egress;
use quintet_platform::http::shown_name;
use quintet_platform::json::{FieldError, FieldProblem, Fields, Given, Json, Number};
use quintet_storage::Timestamp;

use crate::allowances::Ceilings;
use crate::allowances::calendar::{Calendar, ShiftError};
use crate::allowances::model::{MEMORY_MB_LEAST, QUOTA_KINDS, QuotaKind, SetQuotas};
use crate::containers::model::{Secrets, Webhook};
use crate::containers::submission::Submit;
use crate::events::is_event_pattern;
use crate::refusal::{Refusal, ShiftFault};

/// The longest name of an image, in characters.
const IMAGE_CHARS_MAX: usize = 512;
/// The longest name of a run and the longest label, in characters.
const NAME_CHARS_MAX: usize = 128;
/// The most labels.
const TAGS_MAX: usize = 50;
/// The most arguments, and the most variables.
const WORDS_MAX: usize = 4096;
/// The longest argument, and the longest variable with its name, in bytes.
const WORD_BYTES_MAX: usize = 128 << 10;
/// Arguments and variables together, in bytes: what the kernel takes.
const WORDS_BYTES_MAX: usize = 512 << 10;
/// The least of a core, and the most cores that can be asked for; more is clamped anyway.
const CPU_LEAST: f64 = 0.01;
const CPU_MOST: f64 = 1_000_000.0;
/// The longest address of a webhook, in characters.
const URL_CHARS_MAX: usize = 2048;
/// The most events that a webhook asks for.
const EVENTS_MAX: usize = 64;
/// The longest secret of a webhook, in bytes.
const SECRET_BYTES_MAX: usize = 256;

/// Reads a submission.
pub(super) fn submit(body: Json, egress: &Egress) -> Result<Submit, Refusal> {
    let mut fields = Fields::new(body).map_err(field)?;
    let image = image(fields.required("image").map_err(field)?)?;
    let command = command(&mut fields)?;
    let env = env(&mut fields)?;
    check_size(&command, &env)?;
    let timeout_seconds = at_least(&mut fields, "timeout_seconds", 1)?;
    let cpu_millicores = cpu(&mut fields)?;
    let memory_mb = at_least(&mut fields, "memory_limit_mb", MEMORY_MB_LEAST)?;
    let name = optional::<String>(&mut fields, "name")?;
    if let Some(name) = &name {
        label("name", name)?;
    }
    let tags = tags(&mut fields)?;
    let scheduled_start = instant(&mut fields, "scheduled_start")?;
    let expires_at = instant(&mut fields, "expires_at")?;
    let webhook = match fields.take("webhook") {
        None | Some(Json::Null) => None,
        Some(json) => Some(webhook(json, egress)?),
    };
    fields.finish().map_err(|unknown| first(unknown, field))?;
    let (webhook, webhook_secret) = webhook.map_or((None, None), |(webhook, secret)| (Some(webhook), secret));
    Ok(Submit {
        image,
        command,
        secrets: Secrets { env, webhook_secret },
        timeout_seconds,
        cpu_millicores,
        memory_mb,
        name,
        tags,
        scheduled_start,
        expires_at,
        webhook,
        key_id: None,
    })
}

/// Reads a change of quotas. A calendar is read here, before there is a transaction.
pub(crate) fn quotas(body: Json, ceilings: &Ceilings) -> Result<SetQuotas, Refusal> {
    let mut fields = Fields::new(body).map_err(field)?;
    let mut numbers = Vec::new();
    for kind in QUOTA_KINDS {
        let Some(json) = fields.take(kind.name) else { continue };
        let value = quota(kind, json)?;
        match ceilings.of(kind.name) {
            Some(most) if value > most => return Err(Refusal::AboveCeiling(kind.name, shown(kind, most))),
            _ => numbers.push((kind.name, value)),
        }
    }
    let working_hours_tjp = match fields.nullable::<String>("working_hours_tjp").map_err(field)? {
        Given::Absent => None,
        Given::Null => Some(None),
        Given::Value(text) => {
            Calendar::parse(&text).map_err(no_calendar)?;
            Some(Some(text))
        }
    };
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(SetQuotas { numbers, working_hours_tjp })
}

fn no_calendar(error: ShiftError) -> Refusal {
    let detail = error.to_string();
    let ShiftError { line, column, found, expected } = error;
    Refusal::InvalidWorkingHours(ShiftFault { line, column, found, expected, detail })
}

/// The value of a quota, processor time in thousandths of a core.
fn quota(kind: &QuotaKind, json: Json) -> Result<u64, Refusal> {
    let value = match json {
        Json::Number(number) if kind.is_cores => {
            let cores: f64 = number.as_str().parse().unwrap_or(-1.0);
            // Below the least stays below it: a float becomes the nearest number there is.
            Some((cores * 1000.0).round() as u64)
        }
        Json::Number(number) if number.is_integer() => number.as_u64(),
        _ => None,
    };
    value.filter(|value| (kind.least..=kind.most).contains(value)).ok_or_else(|| {
        let what = if kind.is_cores { "number of cores" } else { "whole number" };
        let (least, most) = (shown(kind, kind.least), shown(kind, kind.most));
        Refusal::field(kind.name, format!("must be a {what} from {least} to {most}"))
    })
}

/// The value of a quota as callers write it.
fn shown(kind: &QuotaKind, value: u64) -> String {
    if kind.is_cores { (value as f64 / 1000.0).to_string() } else { value.to_string() }
}

fn field(error: FieldError) -> Refusal {
    Refusal::field(error.field, error.problem.to_string())
}

fn first(errors: Vec<FieldError>, refusal: impl Fn(FieldError) -> Refusal) -> Refusal {
    let nothing = FieldError { field: String::new(), problem: FieldProblem::Unknown };
    refusal(errors.into_iter().next().unwrap_or(nothing))
}

/// A member that may be absent or null.
fn optional<T: quintet_platform::json::FromJson>(fields: &mut Fields, name: &str) -> Result<Option<T>, Refusal> {
    fields.nullable(name).map(Given::value).map_err(field)
}

fn image(image: String) -> Result<String, Refusal> {
    if image.is_empty() || image.chars().count() > IMAGE_CHARS_MAX || !image.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Refusal::field("image", "must be a reference of 1 to 512 printable ASCII characters"));
    }
    Ok(image)
}

fn command(fields: &mut Fields) -> Result<Vec<String>, Refusal> {
    let command = texts(fields, "command", WORDS_MAX)?;
    if command.first().is_some_and(String::is_empty) {
        return Err(Refusal::field("command", "must begin with a program"));
    }
    if command.iter().any(|word| word.len() > WORD_BYTES_MAX || word.contains('\0')) {
        return Err(Refusal::field("command", "must have arguments of at most 128 KiB, without NUL"));
    }
    Ok(command)
}

/// A list of texts; absent and null are the empty one.
fn texts(fields: &mut Fields, name: &str, most: usize) -> Result<Vec<String>, Refusal> {
    let items = match fields.take(name) {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(items)) => items,
        Some(_) => return Err(Refusal::field(name, "must be an array of strings")),
    };
    if items.len() > most {
        return Err(Refusal::field(name, format!("must have at most {most} items")));
    }
    let text = |item| match item {
        Json::String(text) => Ok(text),
        _ => Err(Refusal::field(name, "must be an array of strings")),
    };
    items.into_iter().map(text).collect()
}

fn env(fields: &mut Fields) -> Result<Vec<(String, String)>, Refusal> {
    let members = match fields.take("env") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Object(members)) => members,
        Some(_) => return Err(Refusal::field("env", "must be an object of strings")),
    };
    if members.len() > WORDS_MAX {
        return Err(Refusal::field("env", format!("must have at most {WORDS_MAX} variables")));
    }
    let variable = |(name, value): (String, Json)| {
        let shown = format!("env.{}", shown_name(&name));
        let Json::String(value) = value else { return Err(Refusal::field(shown, "must be a string")) };
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Refusal::field(shown, "must have a name without = and NUL"));
        }
        if value.contains('\0') || name.len() + value.len() > WORD_BYTES_MAX {
            return Err(Refusal::field(shown, "must be at most 128 KiB, without NUL"));
        }
        Ok((name, value))
    };
    members.into_iter().map(variable).collect()
}

fn check_size(command: &[String], env: &[(String, String)]) -> Result<(), Refusal> {
    let words = command.iter().map(|word| word.len() + 9);
    let variables = env.iter().map(|(name, value)| name.len() + value.len() + 10);
    if words.chain(variables).sum::<usize>() > WORDS_BYTES_MAX {
        return Err(Refusal::field("command", "must take at most 512 KiB together with env"));
    }
    Ok(())
}

fn at_least(fields: &mut Fields, name: &str, least: u64) -> Result<Option<u64>, Refusal> {
    let number = optional::<Number>(fields, name)?;
    let Some(number) = number else { return Ok(None) };
    // More digits than any number has are more than any quota.
    let is_huge = number.is_integer() && !number.as_str().starts_with('-') && number.as_u64().is_none();
    match if is_huge { Some(u64::MAX) } else { number.as_u64() } {
        Some(value) if value >= least => Ok(Some(value)),
        _ => Err(Refusal::field(name, format!("must be a whole number, at least {least}"))),
    }
}

fn cpu(fields: &mut Fields) -> Result<Option<u64>, Refusal> {
    let Some(number) = optional::<Number>(fields, "cpu_limit")? else { return Ok(None) };
    let cores: f64 = number.as_str().parse().unwrap_or(0.0);
    if !(CPU_LEAST..=f64::INFINITY).contains(&cores) {
        return Err(Refusal::field("cpu_limit", "must be a number of cores, at least 0.01"));
    }
    Ok(Some((cores.min(CPU_MOST) * 1000.0).round() as u64))
}

fn label(name: &str, text: &str) -> Result<(), Refusal> {
    if text.is_empty() || text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(Refusal::field(name, "must have 1 to 128 characters, none of them a control character"));
    }
    Ok(())
}

fn tags(fields: &mut Fields) -> Result<Vec<String>, Refusal> {
    let tags = texts(fields, "tags", TAGS_MAX)?;
    for tag in &tags {
        label("tags", tag)?;
    }
    let mut unique = Vec::with_capacity(tags.len());
    for tag in tags {
        if !unique.contains(&tag) {
            unique.push(tag);
        }
    }
    Ok(unique)
}

/// An instant in UTC; its Z cannot be left out.
fn instant(fields: &mut Fields, name: &str) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = optional::<String>(fields, name)? else { return Ok(None) };
    let instant = if text.ends_with('Z') { parse_rfc3339(&text).ok() } else { None };
    instant.map(Some).ok_or_else(|| {
        Refusal::field(name, "must be an ISO 8601 instant in UTC that ends in Z, such as 2026-01-31T09:00:00Z")
    })
}

fn webhook(json: Json, egress: &Egress) -> Result<(Webhook, Option<String>), Refusal> {
    let mut fields = Fields::at("webhook", json).map_err(field)?;
    let url: String = fields.required("url").map_err(field)?;
    let events = match fields.take("events") {
        Some(Json::Array(items)) => items,
        None => return Err(Refusal::field("webhook.events", "is required")),
        Some(_) => return Err(Refusal::field("webhook.events", "must be an array of event patterns")),
    };
    let secret = optional::<String>(&mut fields, "secret")?;
    fields.finish().map_err(|unknown| first(unknown, |error| Refusal::UnknownWebhookKey(error.field)))?;
    check_url(&url, egress)?;
    if events.is_empty() || events.len() > EVENTS_MAX {
        return Err(Refusal::field("webhook.events", "must have 1 to 64 event patterns"));
    }
    let pattern = |json: Json| match json {
        Json::String(pattern) if is_event_pattern(&pattern) => Ok(pattern),
        _ => {
            Err(Refusal::field("webhook.events", "must be event patterns such as run.exited, run.terminal, run.* or *"))
        }
    };
    let events = events.into_iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
    if secret.as_ref().is_some_and(|secret| secret.is_empty() || secret.len() > SECRET_BYTES_MAX) {
        return Err(Refusal::field("webhook.secret", "must have 1 to 256 bytes"));
    }
    Ok((Webhook { url, events, has_secret: secret.is_some() }, secret))
}

/// What can be told of an address before anybody resolves it. It is vetted again whenever it is called.
fn check_url(url: &str, egress: &Egress) -> Result<(), Refusal> {
    let uri = Uri::try_from(url).ok().filter(|_| url.chars().count() <= URL_CHARS_MAX && url.is_ascii());
    let Some(uri) = uri else { return Err(Refusal::UrlNotAllowed("it must be an absolute https:// address")) };
    let is_tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(Refusal::UrlNotAllowed("it must be an absolute https:// address")),
    };
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(Refusal::UrlNotAllowed("it must not name a user"));
    }
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_name = host.chars().any(|c| c.is_ascii_alphabetic()) && !host.contains(':') && !host.starts_with("0x");
    match host.parse::<IpAddr>() {
        Ok(address) if egress.allows_address(address, is_tls) => Ok(()),
        Ok(_) => Err(Refusal::UrlNotAllowed("the address is not of the public internet, or not encrypted")),
        Err(_) if is_name && is_tls => Ok(()),
        Err(_) if is_name => Err(Refusal::UrlNotAllowed("http:// is for networks that the operator allows")),
        Err(_) => Err(Refusal::UrlNotAllowed("the host is neither a name nor an address in its usual form")),
    }
}
