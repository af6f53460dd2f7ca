//! Reading a timer: members in the order of the documentation, each with its bounds.

use quintet_platform::json::{Fields, Json};

use super::super::create::NewTimer;
use crate::alarms::form::{check_address, name, payload, webhook};
use crate::dialect::Call;
use crate::form::{field, first, instant, tags};
use crate::refusal::Refusal;
use crate::webhooks::model::SigningSecret;

/// POST /api/v1/timers
pub(super) async fn read_new(json: Json, call: &Call) -> Result<NewTimer, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let name = name(&mut fields)?;
    let fire_at = instant(&mut fields, "fire_at")?.ok_or_else(|| Refusal::field("fire_at", "is required"))?;
    let given = fields.take("webhook").ok_or_else(|| Refusal::field("webhook", "is required"))?;
    let webhook = webhook(given)?;
    let payload = payload(fields.take("payload").unwrap_or(Json::Null))?;
    let tags = tags(&mut fields)?;
    fields.finish().map_err(|unknown| first(unknown, field))?;
    check_address(&webhook, call).await?;
    let secret = webhook.secret.unwrap_or_else(SigningSecret::generated);
    Ok(NewTimer { name, tags, fire_at, url: webhook.url, secret, payload, key_id: call.caller.key_id.clone() })
}
