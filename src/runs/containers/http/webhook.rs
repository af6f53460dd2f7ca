//! The webhook that a submission has in itself.

use std::net::IpAddr;

use http::Uri;
use quintet_platform::egress::Egress;
use quintet_platform::json::{Fields, Json};

use crate::containers::model::Webhook;
use crate::events::is_event_pattern;
use crate::form::{field, first, optional};
use crate::refusal::Refusal;

/// The longest address of a webhook, in characters.
const URL_CHARS_MAX: usize = 2048;
/// The most events that a webhook asks for.
const EVENTS_MAX: usize = 64;
/// The longest secret of a webhook, in bytes.
const SECRET_BYTES_MAX: usize = 256;

/// Reads it, and its secret.
pub(super) fn read_webhook(json: Json, egress: &Egress) -> Result<(Webhook, Option<String>), Refusal> {
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
