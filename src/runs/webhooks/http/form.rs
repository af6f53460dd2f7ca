//! Reading endpoints: members in the order of the documentation, each with its bounds.

use quintet_platform::json::{Fields, Given, Json};
use quintet_platform::webhooks::form::{self, PatternsProblem};
use quintet_platform::webhooks::{EndpointChange, NewEndpoint, SigningSecret};

use super::super::address;
use crate::dialect::Call;
use crate::events::Events;
use crate::form::{field, first, optional};
use crate::refusal::Refusal;

/// POST /api/v1/webhooks. Without a secret there is a generated one.
pub(super) async fn read_new(json: Json, call: &Call) -> Result<NewEndpoint, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let url: String = fields.required("url").map_err(field)?;
    let given = fields.take("events").ok_or_else(|| Refusal::field("events", "is required"))?;
    let patterns = patterns("events", given, |pattern| Events::asked_by(pattern).is_some())?;
    let secret = secret(&mut fields, "secret")?;
    let description = description(&mut fields)?.flatten();
    let is_active = optional::<bool>(&mut fields, "active")?.unwrap_or(true);
    fields.finish().map_err(|unknown| first(unknown, field))?;
    address::check("url", &url, call).await?;
    Ok(NewEndpoint { url, patterns, description, secret: secret.unwrap_or_else(SigningSecret::generated), is_active })
}

/// PATCH /api/v1/webhooks/{id}
pub(super) async fn read_change(json: Json, call: &Call) -> Result<EndpointChange, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let url: Option<String> = fields.optional("url").map_err(field)?;
    let given = fields.take("events");
    let patterns = given.map(|given| patterns("events", given, |pattern| Events::asked_by(pattern).is_some()));
    let patterns = patterns.transpose()?;
    // None is no secret, and cannot be set.
    let secret = supplied("secret", fields.optional("secret").map_err(field)?)?;
    let description = description(&mut fields)?;
    let is_active: Option<bool> = fields.optional("active").map_err(field)?;
    fields.finish().map_err(|unknown| first(unknown, field))?;
    if let Some(url) = &url {
        address::check("url", url, call).await?;
    }
    Ok(EndpointChange { url, patterns, description, secret, is_active })
}

/// Patterns, each once.
pub(crate) fn patterns(
    name: &'static str,
    given: Json,
    is_known: impl Fn(&str) -> bool,
) -> Result<Vec<String>, Refusal> {
    form::patterns(given, is_known).map_err(|problem| {
        let says = match problem {
            PatternsProblem::NoArray => "must be an array of event patterns",
            PatternsProblem::Count => "must have 1 to 64 event patterns",
            PatternsProblem::Unknown => "must be event patterns such as run.exited, run.terminal, run.* or *",
        };
        Refusal::field(name, says)
    })
}

/// A secret of the caller's, which signs as it stands.
pub(crate) fn secret(fields: &mut Fields, name: &'static str) -> Result<Option<SigningSecret>, Refusal> {
    let given = optional::<String>(fields, name)?;
    supplied(&fields.path_of(name), given)
}

fn supplied(path: &str, given: Option<String>) -> Result<Option<SigningSecret>, Refusal> {
    let Some(text) = given else { return Ok(None) };
    let secret = form::supplied(text).ok_or_else(|| Refusal::field(path, "must have 1 to 256 bytes"))?;
    Ok(Some(secret))
}

fn description(fields: &mut Fields) -> Result<Option<Option<String>>, Refusal> {
    let given = match fields.nullable::<String>("description").map_err(field)? {
        Given::Absent => return Ok(None),
        Given::Null => None,
        Given::Value(text) => Some(text),
    };
    if given.as_ref().is_some_and(|text| !form::is_description(text)) {
        return Err(Refusal::field("description", "must have 256 characters at most"));
    }
    Ok(Some(given))
}
