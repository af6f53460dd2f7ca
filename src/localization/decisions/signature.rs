//! Who sent a webhook (contract, Authentication 5; localization, W3).

use http::{HeaderMap, HeaderName};
use quintet_platform::deliveries::hmac_sha256;
use quintet_platform::secrets::{Secret, constant_time_eq};
use quintet_storage::Timestamp;

use crate::refusal::{Refusal, WebhookFault};

/// `X-HITL-Signature`
pub const SIGNATURE: HeaderName = HeaderName::from_static("x-hitl-signature");
/// `X-HITL-Timestamp`
pub const TIMESTAMP: HeaderName = HeaderName::from_static("x-hitl-timestamp");
/// `X-HITL-Event-Id`
pub const EVENT_ID: HeaderName = HeaderName::from_static("x-hitl-event-id");
/// How far a timestamp may be off, in seconds.
pub const SIGNATURE_SKEW_SECONDS: i64 = 300;
/// The most digits of a timestamp.
const TIMESTAMP_DIGITS_MAX: usize = 12;
/// The longest id of an event, in characters.
const EVENT_ID_CHARS_MAX: usize = 200;

/// The signature of a body that is sent at a moment, in Unix seconds.
#[must_use]
pub fn sign(secret: &Secret, timestamp: &str, body: &[u8]) -> String {
    let mac = hmac_sha256(secret.expose().as_bytes(), &[timestamp.as_bytes(), b".", body]);
    format!("sha256={}", data_encoding::HEXLOWER.encode(&mac))
}

/// The one value of a header field, if it has one that is a text.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// The id of the event that a webhook tells of, if whoever sent it knows the secret and did so just now.
///
/// # Errors
/// In this order: [`WebhookFault::TimestampInvalid`], [`WebhookFault::TimestampStale`],
/// [`WebhookFault::SignatureInvalid`], a parameter that is wrong.
pub fn check_signature(headers: &HeaderMap, body: &[u8], secret: &Secret, now: Timestamp) -> Result<String, Refusal> {
    let timestamp = only(headers, &TIMESTAMP).ok_or(Refusal::Webhook(WebhookFault::TimestampInvalid))?;
    let is_number =
        (1..=TIMESTAMP_DIGITS_MAX).contains(&timestamp.len()) && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let sent: i64 =
        timestamp.parse().ok().filter(|_| is_number).ok_or(Refusal::Webhook(WebhookFault::TimestampInvalid))?;
    let off = now.as_micros().div_euclid(1_000_000).abs_diff(sent);
    if off > SIGNATURE_SKEW_SECONDS.unsigned_abs() {
        return Err(Refusal::Webhook(WebhookFault::TimestampStale));
    }
    let given = only(headers, &SIGNATURE).unwrap_or_default();
    if !constant_time_eq(given.as_bytes(), sign(secret, timestamp, body).as_bytes()) {
        return Err(Refusal::Webhook(WebhookFault::SignatureInvalid));
    }
    let event_id = only(headers, &EVENT_ID).filter(|id| !id.is_empty());
    event_id
        .filter(|id| id.chars().count() <= EVENT_ID_CHARS_MAX)
        .map(str::to_owned)
        .ok_or_else(|| Refusal::parameter("X-HITL-Event-Id", "is one text of 1 to 200 characters"))
}
