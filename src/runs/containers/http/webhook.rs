//! The webhook that a submission has in itself.

use quintet_platform::json::{Fields, Json};
use quintet_platform::webhooks::form::SECRET_BYTES_MAX;

use crate::containers::model::Webhook;
use crate::events::is_event_pattern;
use crate::form::{field, first, optional};
use crate::refusal::Refusal;
use crate::webhooks::http::form::patterns;

/// Reads it, and its secret. Whether its address may be called is found out when all the rest is right.
pub(crate) fn read_webhook(json: Json) -> Result<(Webhook, Option<String>), Refusal> {
    let mut fields = Fields::at("webhook", json).map_err(field)?;
    let url: String = fields.required("url").map_err(field)?;
    let given = fields.take("events").ok_or_else(|| Refusal::field("webhook.events", "is required"))?;
    let secret = optional::<String>(&mut fields, "secret")?;
    fields.finish().map_err(|unknown| first(unknown, |error| Refusal::UnknownWebhookKey(error.field)))?;
    let events = patterns("webhook.events", given, is_event_pattern)?;
    if secret.as_ref().is_some_and(|secret| secret.is_empty() || secret.len() > SECRET_BYTES_MAX) {
        return Err(Refusal::field("webhook.secret", "must have 1 to 256 bytes"));
    }
    Ok((Webhook { url, events, has_secret: secret.is_some() }, secret))
}
