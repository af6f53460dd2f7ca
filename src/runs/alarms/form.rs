//! How alarms are read.

use quintet_platform::json::{Fields, Json, to_compact};

use super::model::{NewWebhook, PAYLOAD_BYTES_MAX};
use crate::dialect::Call;
use crate::form::{field, first, label, optional};
use crate::refusal::Refusal;
use crate::webhooks::address;
use crate::webhooks::http::form::secret;

/// The name of an alarm.
pub(crate) fn name(fields: &mut Fields) -> Result<Option<String>, Refusal> {
    let name = optional::<String>(fields, "name")?;
    if let Some(name) = &name {
        label("name", name)?;
    }
    Ok(name)
}

/// The webhook of an alarm. Whether its address may be called is found out when all the rest is right.
pub(crate) fn webhook(json: Json) -> Result<NewWebhook, Refusal> {
    let mut fields = Fields::at("webhook", json).map_err(field)?;
    let url: String = fields.required("url").map_err(field)?;
    let secret = secret(&mut fields, "secret")?;
    fields.finish().map_err(|unknown| first(unknown, |error| Refusal::UnknownWebhookKey(error.field)))?;
    Ok(NewWebhook { url, secret })
}

/// What is handed back: any JSON.
pub(crate) fn payload(payload: Json) -> Result<Json, Refusal> {
    if to_compact(&payload).len() > PAYLOAD_BYTES_MAX {
        return Err(Refusal::field("payload", "must have at most 16 KiB, as JSON without white space"));
    }
    Ok(payload)
}

/// Whether a webhook's address may be called.
pub(crate) async fn check_address(webhook: &NewWebhook, call: &Call) -> Result<(), Refusal> {
    address::check("webhook.url", &webhook.url, call).await
}
