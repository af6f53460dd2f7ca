//! How alarms are written: instants with milliseconds, and payloads to the letter.

use data_encoding::HEXLOWER;
use quintet_platform::clock::rfc3339;
use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::Timestamp;

use super::model::Address;
use crate::webhooks::model::{SecretOrigin, SigningSecret};

/// An instant with milliseconds; what is smaller is cut off.
pub(crate) fn millis(instant: Timestamp) -> Json {
    let mut text = rfc3339(instant);
    // Six digits and the Z.
    text.truncate(text.len().saturating_sub(4));
    text.push('Z');
    text.into()
}

/// An instant with milliseconds, or null.
pub(crate) fn millis_or_null(instant: Option<Timestamp>) -> Json {
    instant.map_or(Json::Null, millis)
}

/// How many seconds one instant lies behind another, with milliseconds.
pub(crate) fn late_seconds(at: Timestamp, planned: Timestamp) -> Json {
    let late_millis = at.micros_since(planned).max(0) / 1000;
    let text = format!("{}.{:03}", late_millis / 1000, late_millis % 1000);
    parse(text.as_bytes(), Limits::default()).unwrap_or(Json::Null)
}

/// Where an alarm is told.
pub(crate) fn write_address(address: &Address) -> Json {
    Json::object([("url", Json::from(address.url.as_str())), ("secret_origin", address.secret_origin.name().into())])
}

/// An alarm with its new secret, which is shown this once; one that the caller has is not shown.
pub(crate) fn with_secret(record: Json, secret: &SigningSecret) -> Json {
    let text = (secret.origin == SecretOrigin::Generated).then(|| HEXLOWER.encode(secret.key.expose()));
    match record {
        Json::Object(mut members) => {
            members.push(("secret".to_owned(), text.into()));
            Json::Object(members)
        }
        other => other,
    }
}

/// Labels.
pub(crate) fn write_tags(tags: &[String]) -> Json {
    tags.iter().map(|tag| Json::from(tag.as_str())).collect::<Vec<_>>().into()
}
