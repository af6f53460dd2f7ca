//! Reading endpoints: members in the order of the documentation, each with its bounds.

use quintet_platform::json::{Fields, Given, Json};
use quintet_platform::secrets::{Secret, random_bytes};

use super::super::address;
use super::super::model::{EndpointChange, NewEndpoint, SecretOrigin, SigningSecret};
use crate::dialect::Call;
use crate::events::Events;
use crate::form::{field, first, optional};
use crate::refusal::Refusal;

/// The most patterns.
pub(crate) const PATTERNS_MAX: usize = 64;
/// The longest secret, in bytes.
pub(crate) const SECRET_BYTES_MAX: usize = 256;
/// The longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 256;

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
    Ok(NewEndpoint { url, patterns, description, secret: secret.unwrap_or_else(generated), is_active })
}

/// PATCH /api/v1/webhooks/{id}
pub(super) async fn read_change(json: Json, call: &Call) -> Result<EndpointChange, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let url: Option<String> = fields.optional("url").map_err(field)?;
    let given = fields.take("events");
    let patterns = given.map(|given| patterns("events", given, |pattern| Events::asked_by(pattern).is_some()));
    let patterns = patterns.transpose()?;
    let secret = secret(&mut fields, "secret")?;
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
    let Json::Array(items) = given else {
        return Err(Refusal::field(name, "must be an array of event patterns"));
    };
    if items.is_empty() || items.len() > PATTERNS_MAX {
        return Err(Refusal::field(name, "must have 1 to 64 event patterns"));
    }
    let mut patterns = Vec::new();
    for item in items {
        match item {
            Json::String(pattern) if is_known(&pattern) => {
                if !patterns.contains(&pattern) {
                    patterns.push(pattern);
                }
            }
            _ => {
                let problem = "must be event patterns such as run.exited, run.terminal, run.* or *";
                return Err(Refusal::field(name, problem));
            }
        }
    }
    Ok(patterns)
}

/// A secret of the caller's, which signs as it stands.
pub(crate) fn secret(fields: &mut Fields, name: &'static str) -> Result<Option<SigningSecret>, Refusal> {
    let Some(text) = optional::<String>(fields, name)? else { return Ok(None) };
    if text.is_empty() || text.len() > SECRET_BYTES_MAX {
        return Err(Refusal::field(fields.path_of(name), "must have 1 to 256 bytes"));
    }
    Ok(Some(SigningSecret { key: Secret::new(text.into_bytes()), origin: SecretOrigin::Supplied }))
}

/// A secret of our own: 32 random bytes.
pub(crate) fn generated() -> SigningSecret {
    SigningSecret { key: Secret::new(random_bytes::<32>().to_vec()), origin: SecretOrigin::Generated }
}

fn description(fields: &mut Fields) -> Result<Option<Option<String>>, Refusal> {
    let given = match fields.nullable::<String>("description").map_err(field)? {
        Given::Absent => return Ok(None),
        Given::Null => None,
        Given::Value(text) => Some(text),
    };
    if given.as_ref().is_some_and(|text| text.chars().count() > DESCRIPTION_CHARS_MAX) {
        return Err(Refusal::field("description", "must have 256 characters at most"));
    }
    Ok(Some(given))
}
