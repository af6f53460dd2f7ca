//! Reading what is asked of webhooks.

use quintet_platform::json::{Fields, Json};
use quintet_platform::secrets::{Secret, random_bytes};

use crate::form::{field, optional, required};
use crate::refusal::Refusal;
use crate::telling::Event;
use crate::words::secret::{self, SECRET_BYTES};

/// POST /v1/webhooks
pub(super) struct Asked {
    pub(super) url: String,
    pub(super) events: Option<u32>,
    /// The agent's name; `None`: the whole workspace.
    pub(super) agent: Option<String>,
    pub(super) secret: Secret<Vec<u8>>,
}

/// Members in the order of the documentation. Without a secret there is a new one.
pub(super) fn read_new(fields: &mut Fields) -> Result<Asked, Refusal> {
    let url: String = required(fields, "url")?;
    let events = events(fields)?;
    let agent: Option<String> = optional(fields, "agent")?;
    let secret = match optional::<String>(fields, "secret")? {
        None => Secret::new(random_bytes::<SECRET_BYTES>().to_vec()),
        Some(text) => {
            let problem = "must be whsec_ and base64 of 16 to 64 bytes";
            secret::parse(&text).ok_or_else(|| Refusal::field("secret", problem))?
        }
    };
    Ok(Asked { url, events, agent, secret })
}

/// What a webhook asks for, a bit for each event; absent and null are everything.
fn events(fields: &mut Fields) -> Result<Option<u32>, Refusal> {
    let Some(items) = optional::<Vec<Json>>(fields, "events")? else { return Ok(None) };
    if items.is_empty() {
        return Err(Refusal::field("events", "must name at least one event; null asks for all"));
    }
    let mut bits = 0;
    for (place, item) in items.into_iter().enumerate() {
        let event = match &item {
            Json::String(name) => Event::named(name),
            _ => None,
        };
        let names = Event::ALL.map(Event::name).join(", ");
        bits |=
            event.ok_or_else(|| Refusal::field(format!("events[{place}]"), format!("must be one of {names}")))?.bit();
    }
    Ok(Some(bits))
}

/// PATCH /v1/webhooks/{webhook_id}
pub(super) fn read_change(fields: &mut Fields) -> Result<bool, Refusal> {
    fields.required("enabled").map_err(field)
}
