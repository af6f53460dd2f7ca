//! How alarms are written: instants with milliseconds, and payloads to the letter.

use data_encoding::HEXLOWER;
use quintet_platform::clock::rfc3339;
use quintet_platform::json::{Json, Limits, parse, to_compact};
use quintet_platform::service::next_cursor;
use quintet_storage::bincode::Encode;
use quintet_storage::{Failure, Timestamp};

use super::model::Address;
use crate::webhooks::model::{SecretOrigin, SigningSecret};

/// Bytes of a page, about: it is cut behind the alarm that exceeds them.
const PAGE_BYTES_MAX: usize = 2 << 20;

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

/// A page of a list: as many of these alarms as it has room for, and the cursor of what is behind them. `next` is behind
/// which alarm the next page begins if all of them have room.
pub(crate) fn write_page<I: Copy + Encode, A>(
    kind: &str,
    alarms: Vec<(I, A)>,
    mut next: Option<I>,
    mut write: impl FnMut(I, A) -> Result<Json, Failure>,
) -> Result<String, Failure> {
    let (count, mut bytes, mut items) = (alarms.len(), 0, Vec::new());
    for (id, alarm) in alarms {
        let item = to_compact(&write(id, alarm)?);
        bytes += item.len();
        items.push(item);
        if bytes > PAGE_BYTES_MAX && items.len() < count {
            next = Some(id);
            break;
        }
    }
    let cursor = to_compact(&Json::from(next_cursor(kind, next.as_ref())?));
    Ok(format!("{{\"items\":[{}],\"next_cursor\":{cursor}}}", items.join(",")))
}
