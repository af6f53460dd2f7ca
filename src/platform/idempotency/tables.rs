//! The rows of stored answers.

use bincode::{Decode, Encode};
use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Family, Read, Row, Table, Timestamp, decode_plain};
use uuid::Uuid;

use super::model::{Lookup, RequestDigest, StoredAnswer};
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
    const VERSION: u8 = 4;

    /// In version 1 every body lay in the clear; up to version 2 rows said when they were answered, and all were kept for
    /// as long; up to version 3 what was asked lay in the clear, also where it tells of a member.
    fn migrate(version: u8, bytes: &[u8]) -> Result<Self, Failure> {
        let (digest, answered_at, status, content_type, body) = match version {
            1 => {
                let (digest, answered_at, status, content_type, body) = decode_plain(bytes)?;
                (digest, answered_at, status, content_type, StoredBody::Plain(body))
            }
            2 => decode_plain(bytes)?,
            3 => {
                let (digest, expires_at, status, content_type, body) = decode_plain(bytes)?;
                return Ok(AnswerRow { digest, expires_at, status, content_type, body });
            }
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
    /// Sealed for this member of the tenant, the digest of what was asked beside it.
    Personal([u8; 16], Sealed),
    /// Sealed for this member of the tenant, behind the digest of what was asked.
    Told([u8; 16], Sealed),
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

    /// What is known of a request by it: of one about a member who was erased nothing, not even whether it is this one.
    pub(super) fn into_lookup(
        self,
        read: &impl Read,
        key: &(Uuid, u128),
        digest: &RequestDigest,
    ) -> Result<Lookup, Failure> {
        let AnswerRow { digest: stored, status, content_type, body, .. } = self;
        let is_sealed = matches!(body, StoredBody::Told(..));
        if !is_sealed && stored != *digest {
            return Ok(Lookup::Mismatch);
        }
        let of_member = |member| KeyOwner::Member { tenant: key.0, member: Uuid::from_bytes(member) };
        let (owner, sealed, gone) = match body {
            StoredBody::Plain(body) => return Ok(Lookup::Replay(of(status, content_type, body))),
            StoredBody::Sealed(sealed) => (KeyOwner::Tenant(key.0), sealed, Lookup::Mismatch),
            StoredBody::Personal(member, sealed) | StoredBody::Told(member, sealed) => {
                (of_member(member), sealed, Lookup::Erased { member_id: Uuid::from_bytes(member), status })
            }
        };
        let opened = match seal::open(read, owner, &ANSWERS, key, &sealed) {
            Ok(opened) => opened,
            Err(Abort::Refused(Erased)) => return Ok(gone),
            Err(Abort::Failed(failure)) => return Err(failure),
        };
        let body = match is_sealed {
            true => opened.strip_prefix(digest.bytes().as_slice()),
            false => Some(opened.as_slice()),
        };
        Ok(body.map_or(Lookup::Mismatch, |body| Lookup::Replay(of(status, content_type, body.to_vec()))))
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
