//! What proves a call: an HMAC-SHA256 over its timestamp and body, in one of three forms (6-messaging.md, H2, H4).
//!
//! | form | header fields | signed | key |
//! |---|---|---|---|
//! | Standard Webhooks | `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,BASE64 …` | `id.timestamp.body` | the secret's bytes |
//! | messaging's own | `X-AgentBus-Timestamp`, `X-AgentBus-Signature: v1=HEX` | `timestamp.body` | the secret's bytes |
//! | that of runs | `X-Svc-Timestamp`, `X-Svc-Signature: sha256=HEX`, `X-Svc-Event-Id` | `timestamp.body` | the secret's text |
//!
//! A call may carry several forms, and a header several signatures: each is tried, and one that is good is enough.

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use http::{HeaderMap, HeaderName};
use quintet_platform::deliveries::hmac_sha256;
use quintet_platform::secrets::constant_time_eq;

use super::model::Secrets;
use crate::words::secret;

/// The longest id of a call, in bytes.
const ID_BYTES_MAX: usize = 256;
/// The most digits of a timestamp.
const TIMESTAMP_DIGITS_MAX: usize = 15;
/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 32;

/// How a call is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Standard Webhooks.
    Standard,
    /// Messaging's own.
    Own,
    /// That of runs.
    Service,
}

/// A call whose signature is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proved {
    pub(super) form: Form,
    /// What it calls itself. In the form of runs that is not signed.
    pub(super) id: Option<String>,
    /// Its timestamp, in seconds since 1970.
    pub(super) timestamp: i64,
    /// What signs it.
    pub(super) signature: [u8; SIGNATURE_BYTES],
    /// What else signs it, in forms that do not sign what it calls itself: each would do by itself.
    pub(super) others: Vec<[u8; SIGNATURE_BYTES]>,
    /// Whether by the secret that was before.
    pub(super) is_by_previous: bool,
}

/// What a call shows in one form.
struct Shown<'a> {
    form: Form,
    id: Option<&'a str>,
    timestamp: &'a str,
    seconds: i64,
    signatures: Vec<[u8; SIGNATURE_BYTES]>,
}

impl Shown<'_> {
    /// What its signature must be under a secret.
    fn expected(&self, key: &[u8], body: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let timestamp = self.timestamp.as_bytes();
        match self.form {
            Form::Standard => {
                let id = self.id.unwrap_or_default().as_bytes();
                hmac_sha256(key, &[id, b".", timestamp, b".", body])
            }
            Form::Own => hmac_sha256(key, &[timestamp, b".", body]),
            Form::Service => hmac_sha256(secret::text(key).expose().as_bytes(), &[timestamp, b".", body]),
        }
    }
}

/// Whether a call is proved by one of these secrets, the newer one first; `None`: it is not, or shows nothing.
///
/// As much is computed for a call, whatever it shows is worth: an HMAC for each form that it has, and each secret.
pub(super) fn prove(headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> Option<Proved> {
    let forms = [standard(headers), own(headers), service(headers)];
    let keys = [Some(&secrets.current), secrets.previous.as_ref()];
    let mut proved: Option<Proved> = None;
    for shown in forms.into_iter().flatten() {
        for (place, key) in keys.into_iter().enumerate() {
            let Some(key) = key else { continue };
            let expected = shown.expected(key.expose(), body);
            let mut is_good = false;
            for signature in &shown.signatures {
                is_good |= constant_time_eq(signature, &expected);
            }
            match &mut proved {
                _ if !is_good => {}
                Some(_) if shown.form == Form::Standard => {}
                Some(proved) => proved.others.push(expected),
                None => {
                    proved = Some(Proved {
                        form: shown.form,
                        id: shown.id.map(str::to_owned),
                        timestamp: shown.seconds,
                        signature: expected,
                        others: Vec::new(),
                        is_by_previous: place > 0,
                    });
                }
            }
        }
    }
    proved
}

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const X_AGENTBUS_TIMESTAMP: HeaderName = HeaderName::from_static("x-agentbus-timestamp");
const X_AGENTBUS_SIGNATURE: HeaderName = HeaderName::from_static("x-agentbus-signature");
const X_SVC_TIMESTAMP: HeaderName = HeaderName::from_static("x-svc-timestamp");
const X_SVC_SIGNATURE: HeaderName = HeaderName::from_static("x-svc-signature");
const X_SVC_EVENT_ID: HeaderName = HeaderName::from_static("x-svc-event-id");

fn standard(headers: &HeaderMap) -> Option<Shown<'_>> {
    let id = id(headers, &WEBHOOK_ID)?;
    let signature = |text: &str| BASE64.decode(text.strip_prefix("v1,")?.as_bytes()).ok();
    shown(headers, Form::Standard, Some(id), (&WEBHOOK_TIMESTAMP, &WEBHOOK_SIGNATURE), &[' '], signature)
}

fn own(headers: &HeaderMap) -> Option<Shown<'_>> {
    let signature = |text: &str| HEXLOWER_PERMISSIVE.decode(text.strip_prefix("v1=")?.as_bytes()).ok();
    shown(headers, Form::Own, None, (&X_AGENTBUS_TIMESTAMP, &X_AGENTBUS_SIGNATURE), &[' ', ','], signature)
}

fn service(headers: &HeaderMap) -> Option<Shown<'_>> {
    let signature = |text: &str| HEXLOWER_PERMISSIVE.decode(text.strip_prefix("sha256=")?.as_bytes()).ok();
    let id = id(headers, &X_SVC_EVENT_ID);
    shown(headers, Form::Service, id, (&X_SVC_TIMESTAMP, &X_SVC_SIGNATURE), &[' ', ','], signature)
}

/// What a call shows in a form; `None`: it does not show it, or not well-formed.
fn shown<'a>(
    headers: &'a HeaderMap,
    form: Form,
    id: Option<&'a str>,
    (timestamp, signatures): (&HeaderName, &HeaderName),
    separators: &[char],
    signature: impl Fn(&str) -> Option<Vec<u8>>,
) -> Option<Shown<'a>> {
    let timestamp = only(headers, timestamp)?;
    let seconds = seconds(timestamp)?;
    let texts = headers.get_all(signatures).iter().filter_map(|value| value.to_str().ok());
    let texts = texts.flat_map(|text| text.split(separators));
    let signatures: Vec<_> = texts.filter_map(signature).filter_map(|bytes| bytes.try_into().ok()).collect();
    if signatures.is_empty() { None } else { Some(Shown { form, id, timestamp, seconds, signatures }) }
}

/// A header field that is there once, and has something.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    value.to_str().ok().filter(|text| !text.is_empty())
}

fn id<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    only(headers, name).filter(|text| text.len() <= ID_BYTES_MAX)
}

/// Seconds since 1970: digits and nothing else.
fn seconds(text: &str) -> Option<i64> {
    let is_plain = text.len() <= TIMESTAMP_DIGITS_MAX && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}
