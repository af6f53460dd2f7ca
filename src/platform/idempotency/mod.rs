//! Stored answers: a mutating request that comes again under the same Idempotency-Key is answered with the bytes
//! of the first time, for 30 days.
//!
//! A room looks the key up and remembers the answer in the transaction of the effect, so that both are there or
//! neither. Since transactions run one after another, the second of two equal requests in flight finds the answer
//! of the first: there is no state in between.
//!
//! Invariants:
//! - one answer for each scope (tenant, service, route, key) at a time;
//! - every answer has its row in the expiry index, and the other way round;
//! - an answer is not found from its 30th day on, whether or not it has been collected;
//! - an answer that carries a secret (the room says which, [`remember_secret`]) is nowhere on the disk in the clear.
//!
//! What counts as final (2xx, some 4xx) is the room's decision; see its contract.

mod collector;

#[cfg(test)]
mod tests;

use bincode::{Decode, Encode};
use http::{HeaderMap, HeaderName};
use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Family, Read, Row, Table, Timestamp, WriteTx, decode_plain};
use uuid::Uuid;

use crate::access::Service;
use crate::secrets::digest_parts;

pub use collector::Collector;

/// `Idempotency-Key`
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How long an answer is kept, in seconds: 30 days.
pub const KEPT_SECONDS: i64 = 30 * 86_400;

/// Expired answers are collected by the hour, so that a rehearsal clock stops once for an hour of them.
const HOUR_MICROS: i64 = 3_600_000_000;

/// (tenant, digest of service, route and key).
pub(crate) const ANSWERS: Table<(Uuid, u128), AnswerRow> = Table::new(0x0110, Family::APPLIANCE, "platform.answers");

/// (the hour, since the epoch, at whose start the answer may go; tenant; digest).
pub(crate) const ANSWERS_BY_EXPIRY: Table<(u32, Uuid, u128), ExpiryMark> =
    Table::new(0x0111, Family::APPLIANCE, "platform.answers_by_expiry");

/// What a key is unique within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The service that was called.
    pub service: Service,
    /// The caller's tenant.
    pub tenant_id: Uuid,
    /// The route's template, with its method if one template has several: `POST /v1/accounts/{id}`.
    pub route: &'static str,
    /// The Idempotency-Key.
    pub key: String,
}

/// What a request was: SHA-256 over method, path, query and body, cut to 16 bytes. It tells the requests of one
/// caller apart, who gains nothing from two that look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RequestDigest([u8; 16]);

/// An answer as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The status.
    pub status: u16,
    /// The content type; empty if there was no body.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing: go on.
    Fresh,
    /// It was answered already, with this.
    Replay(StoredAnswer),
    /// The key was used for another request; or for this one, and its answer, a secret, was erased with the tenant's
    /// data key.
    Mismatch,
}

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct AnswerRow {
    digest: RequestDigest,
    answered_at: Timestamp,
    status: u16,
    content_type: StoredType,
    body: StoredBody,
}

impl Row for AnswerRow {
    const VERSION: u8 = 2;

    /// In version 1 every body lay in the clear.
    fn migrate(version: u8, bytes: &[u8]) -> Result<Self, Failure> {
        match version {
            1 => {
                let (digest, answered_at, status, content_type, body) = decode_plain(bytes)?;
                Ok(AnswerRow { digest, answered_at, status, content_type, body: StoredBody::Plain(body) })
            }
            _ => Err(Failure::Damaged(format!("a stored answer has unknown version {version}"))),
        }
    }
}

/// A stored answer's body.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
enum StoredBody {
    Plain(Vec<u8>),
    /// Sealed for the tenant.
    Sealed(Sealed),
}

/// Content types that nearly every answer has take one byte.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
enum StoredType {
    Json,
    Problem,
    Other(String),
}

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct ExpiryMark;

impl Row for ExpiryMark {}

impl Scope {
    fn table_key(&self) -> (Uuid, u128) {
        let digest = digest_parts(&[&[self.service.code()], self.route.as_bytes(), self.key.as_bytes()]);
        (self.tenant_id, u128::from_be_bytes(first_half(digest)))
    }
}

impl RequestDigest {
    /// The digest of a request. `path` is the concrete path, `query` its parameters in a canonical spelling
    /// ([`Query::canonical`](crate::http::query::Query::canonical)), `body` the bytes as they came.
    #[must_use]
    pub fn of(method: &str, path: &str, query: &str, body: &[u8]) -> RequestDigest {
        RequestDigest(first_half(digest_parts(&[method.as_bytes(), path.as_bytes(), query.as_bytes(), body])))
    }
}

fn first_half(digest: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(digest) {
        *to = from;
    }
    half
}

impl AnswerRow {
    fn is_expired(&self, now: Timestamp) -> bool {
        self.answered_at.plus_seconds(KEPT_SECONDS) <= now
    }

    /// The first full hour at which it is expired.
    pub(crate) fn expiry_hour(&self) -> u32 {
        let expires_at = self.answered_at.plus_seconds(KEPT_SECONDS).as_micros();
        let hour = expires_at.div_euclid(HOUR_MICROS) + i64::from(expires_at.rem_euclid(HOUR_MICROS) != 0);
        u32::try_from(hour.max(0)).unwrap_or(u32::MAX)
    }

    /// The answer; `None` if it was a secret and the tenant has been erased.
    fn into_answer(self, read: &impl Read, key: &(Uuid, u128)) -> Result<Option<StoredAnswer>, Failure> {
        let body = match self.body {
            StoredBody::Plain(body) => body,
            StoredBody::Sealed(sealed) => match seal::open(read, KeyOwner::Tenant(key.0), &ANSWERS, key, &sealed) {
                Ok(body) => body.to_vec(),
                Err(Abort::Refused(Erased)) => return Ok(None),
                Err(Abort::Failed(failure)) => return Err(failure),
            },
        };
        let content_type = match self.content_type {
            StoredType::Json => "application/json".to_owned(),
            StoredType::Problem => "application/problem+json".to_owned(),
            StoredType::Other(other) => other,
        };
        Ok(Some(StoredAnswer { status: self.status, content_type, body }))
    }
}

/// A request's `Idempotency-Key` cannot be used: several lines, not UTF-8, control characters, empty or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Idempotency-Key header is malformed, empty or too long")]
pub struct MalformedKey;

/// The `Idempotency-Key` of a request, if it has one: 1 to `max_chars` characters (the contracts say 200 or 255).
///
/// # Errors
/// [`MalformedKey`]
pub fn request_key(headers: &HeaderMap, max_chars: usize) -> Result<Option<String>, MalformedKey> {
    let mut lines = headers.get_all(IDEMPOTENCY_KEY).iter();
    let line = match (lines.next(), lines.next()) {
        (None, _) => return Ok(None),
        (Some(only), None) => only,
        (Some(_), Some(_)) => return Err(MalformedKey),
    };
    let key = str::from_utf8(line.as_bytes()).map_err(|_| MalformedKey)?;
    let length_fits = (1..=max_chars).contains(&key.chars().count());
    if length_fits && !key.chars().any(char::is_control) { Ok(Some(key.to_owned())) } else { Err(MalformedKey) }
}

/// Looks a request up. On the snapshot it may save a transaction; only the answer of the transaction counts.
///
/// # Errors
/// What the store answers.
pub fn lookup(read: &impl Read, scope: &Scope, digest: &RequestDigest, now: Timestamp) -> Result<Lookup, Failure> {
    let key = scope.table_key();
    match read.get(&ANSWERS, &key)? {
        Some(row) if row.is_expired(now) => Ok(Lookup::Fresh),
        Some(row) if row.digest != *digest => Ok(Lookup::Mismatch),
        Some(row) => Ok(row.into_answer(read, &key)?.map_or(Lookup::Mismatch, Lookup::Replay)),
        None => Ok(Lookup::Fresh),
    }
}

/// Remembers the answer of a request that [`lookup`] found fresh in this transaction.
///
/// # Errors
/// What the store answers.
pub fn remember(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    scope: &Scope,
    digest: RequestDigest,
    answer: &StoredAnswer,
) -> Result<(), Failure> {
    keep(tx, now, scope, digest, answer, StoredBody::Plain(answer.body.clone()))
}

/// [`remember`] for an answer that carries a secret (a key just issued, a signing secret): its body is sealed for the
/// tenant.
///
/// # Errors
/// Refused if the tenant has been erased; what the store answers.
pub fn remember_secret(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    scope: &Scope,
    digest: RequestDigest,
    answer: &StoredAnswer,
) -> Result<(), Abort<Erased>> {
    let body = seal::seal(tx, KeyOwner::Tenant(scope.tenant_id), &ANSWERS, &scope.table_key(), &answer.body)?;
    Ok(keep(tx, now, scope, digest, answer, StoredBody::Sealed(body))?)
}

fn keep(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    scope: &Scope,
    digest: RequestDigest,
    answer: &StoredAnswer,
    body: StoredBody,
) -> Result<(), Failure> {
    let key = scope.table_key();
    if let Some(expired) = tx.get(&ANSWERS, &key)? {
        tx.delete(&ANSWERS_BY_EXPIRY, &(expired.expiry_hour(), key.0, key.1));
    }
    let content_type = match answer.content_type.as_str() {
        "application/json" => StoredType::Json,
        "application/problem+json" => StoredType::Problem,
        other => StoredType::Other(other.to_owned()),
    };
    let row = AnswerRow { digest, answered_at: now, status: answer.status, content_type, body };
    tx.put(&ANSWERS_BY_EXPIRY, &(row.expiry_hour(), key.0, key.1), &ExpiryMark)?;
    tx.put(&ANSWERS, &key, &row)
}
