//! The verbs: look a request up, remember its answer.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::in_flight::Entered;
use super::model::{Lookup, RequestDigest, Scope, StoredAnswer};
use super::tables::{ANSWERS, ANSWERS_BY_EXPIRY, AnswerRow, ExpiryMark, StoredBody, StoredType};
use crate::jobs::start_of_hour;

/// Looks a request up. On the snapshot it may save a transaction; only the answer of the transaction counts.
///
/// # Errors
/// What the store answers.
pub fn lookup(read: &impl Read, scope: &Scope, digest: &RequestDigest, now: Timestamp) -> Result<Lookup, Failure> {
    let key = scope.table_key();
    match read.get(&ANSWERS, &key)? {
        Some(row) if row.is_expired(now) => Ok(Lookup::Fresh),
        Some(row) => row.into_lookup(read, &key, digest),
        None => Ok(Lookup::Fresh),
    }
}

/// Remembers the answer of a request that [`lookup`] found fresh in this transaction, for so many seconds.
///
/// # Errors
/// What the store answers.
pub fn remember(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    answer: &StoredAnswer,
    kept_seconds: i64,
) -> Result<(), Failure> {
    keep(tx, now.plus_seconds(kept_seconds), entered, answer, StoredBody::Plain(answer.body.clone()))
}

/// [`remember`] for an answer that carries a secret (a key just issued, a signing secret): its body is sealed for the
/// tenant.
///
/// # Errors
/// Refused if the tenant has been erased; what the store answers.
pub fn remember_secret(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    answer: &StoredAnswer,
    kept_seconds: i64,
) -> Result<(), Abort<Erased>> {
    let scope = &entered.scope;
    let body = seal::seal(tx, KeyOwner::Tenant(scope.tenant_id), &ANSWERS, &scope.table_key(), &answer.body)?;
    Ok(keep(tx, now.plus_seconds(kept_seconds), entered, answer, StoredBody::Sealed(body))?)
}

/// [`remember`] for an answer that tells of a member, or whose request does: both are sealed for that member, and go with it.
///
/// # Errors
/// Refused if the member has been erased; what the store answers.
pub fn remember_personal(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    answer: &StoredAnswer,
    kept_seconds: i64,
    member_id: Uuid,
) -> Result<(), Abort<Erased>> {
    let scope = &entered.scope;
    let owner = KeyOwner::Member { tenant: scope.tenant_id, member: member_id };
    let plain = Zeroizing::new([entered.digest.bytes().as_slice(), &answer.body].concat());
    let body = seal::seal(tx, owner, &ANSWERS, &scope.table_key(), &plain)?;
    let body = StoredBody::Told(member_id.into_bytes(), body);
    Ok(keep(tx, now.plus_seconds(kept_seconds), entered, answer, body)?)
}

fn keep(
    tx: &mut WriteTx<'_>,
    expires_at: Timestamp,
    entered: &Entered,
    answer: &StoredAnswer,
    body: StoredBody,
) -> Result<(), Failure> {
    let key = entered.scope.table_key();
    if let Some(expired) = tx.get(&ANSWERS, &key)? {
        tx.delete(&ANSWERS_BY_EXPIRY, &(expired.expiry_hour(), key.0, key.1));
    }
    let content_type = match answer.content_type.as_str() {
        "application/json" => StoredType::Json,
        "application/problem+json" => StoredType::Problem,
        other => StoredType::Other(other.to_owned()),
    };
    let digest = if matches!(body, StoredBody::Told(..)) { RequestDigest::SEALED } else { entered.digest };
    let row = AnswerRow { digest, expires_at, status: answer.status, content_type, body };
    tx.put(&ANSWERS_BY_EXPIRY, &(row.expiry_hour(), key.0, key.1), &ExpiryMark)?;
    tx.falls_due(ANSWERS_BY_EXPIRY.spec().tag, start_of_hour(row.expiry_hour()));
    tx.put(&ANSWERS, &key, &row)
}
