//! The rows of stored answers.

use bincode::{Decode, Encode};
use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Family, Read, Row, Table, Timestamp, decode_plain};
use uuid::Uuid;

use super::model::{RequestDigest, StoredAnswer};
use crate::jobs::hour_at_or_after;

/// How long every answer was kept whose row does not say so.
const FORMERLY_KEPT_SECONDS: i64 = 30 * 86_400;

/// (tenant, digest of service, what the key is unique within, and key).
pub(crate) const ANSWERS: Table<(Uuid, u128), AnswerRow> = Table::new(0x0110, Family::APPLIANCE, "platform.answers");

/// (the hour, since the epoch, at whose start the answer may go; tenant; digest).
pub(crate) const ANSWERS_BY_EXPIRY: Table<(u32, Uuid, u128), ExpiryMark> =
    Table::new(0x0111, Family::APPLIANCE, "platform.answers_by_expiry");

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct AnswerRow {
    pub(super) digest: RequestDigest,
    pub(super) expires_at: Timestamp,
    pub(super) status: u16,
    pub(super) content_type: StoredType,
    pub(super) body: StoredBody,
}

impl Row for AnswerRow {
    const VERSION: u8 = 3;

    /// In version 1 every body lay in the clear; up to version 2 rows said when they were answered, and all were kept for
    /// as long.
    fn migrate(version: u8, bytes: &[u8]) -> Result<Self, Failure> {
        let (digest, answered_at, status, content_type, body) = match version {
            1 => {
                let (digest, answered_at, status, content_type, body) = decode_plain(bytes)?;
                (digest, answered_at, status, content_type, StoredBody::Plain(body))
            }
            2 => decode_plain(bytes)?,
            _ => return Err(Failure::Damaged(format!("a stored answer has unknown version {version}"))),
        };
        let answered_at: Timestamp = answered_at;
        let expires_at = answered_at.plus_seconds(FORMERLY_KEPT_SECONDS);
        Ok(AnswerRow { digest, expires_at, status, content_type, body })
    }
}

/// A stored answer's body.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum StoredBody {
    Plain(Vec<u8>),
    /// Sealed for the tenant.
    Sealed(Sealed),
    /// Sealed for this member of the tenant.
    Personal([u8; 16], Sealed),
}

/// Content types that nearly every answer has take one byte.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum StoredType {
    Json,
    Problem,
    Other(String),
}

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct ExpiryMark;

impl Row for ExpiryMark {}

impl AnswerRow {
    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// The first full hour at which it is expired.
    pub(crate) fn expiry_hour(&self) -> u32 {
        hour_at_or_after(self.expires_at)
    }

    /// The answer; `None` if it was a secret or personal, and the tenant or the member has been erased.
    pub(super) fn into_answer(self, read: &impl Read, key: &(Uuid, u128)) -> Result<Option<StoredAnswer>, Failure> {
        let (owner, sealed) = match self.body {
            StoredBody::Plain(body) => return Ok(Some(of(self.status, self.content_type, body))),
            StoredBody::Sealed(sealed) => (KeyOwner::Tenant(key.0), sealed),
            StoredBody::Personal(member, sealed) => {
                (KeyOwner::Member { tenant: key.0, member: Uuid::from_bytes(member) }, sealed)
            }
        };
        match seal::open(read, owner, &ANSWERS, key, &sealed) {
            Ok(body) => Ok(Some(of(self.status, self.content_type, body.to_vec()))),
            Err(Abort::Refused(Erased)) => Ok(None),
            Err(Abort::Failed(failure)) => Err(failure),
        }
    }
}

/// The answer with this body.
fn of(status: u16, content_type: StoredType, body: Vec<u8>) -> StoredAnswer {
    let content_type = match content_type {
        StoredType::Json => "application/json".to_owned(),
        StoredType::Problem => "application/problem+json".to_owned(),
        StoredType::Other(other) => other,
    };
    StoredAnswer { status, content_type, body }
}
