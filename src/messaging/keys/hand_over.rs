//! Handing a key over by an address that answers once (6-messaging.md, K2).
//!
//! What waits there is no secret but a key that has none yet: it is drawn when it is fetched, so that nothing that could be
//! read is kept. A key that nobody fetches in time is revoked, for nobody will ever have it.

use quintet_platform::secrets::{constant_time_eq, digest};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::model::ADDRESS_SECONDS;
use super::revoke::revoke;
use super::tables::{KEY_ADDRESSES, KeyAddressRow};
use crate::due::{self, Due};
use crate::identity::keys::{self, PreparedKey, is_secret, token_place};
use crate::identity::{Key, serving, workspaces};
use crate::refusal::Refusal;

/// Has a key wait at the address with this token.
pub(super) fn hand_over(tx: &mut WriteTx<'_>, now: Timestamp, key: &Key, token: &str) -> Result<(), Failure> {
    let (digest, expires_at) = (digest(token.as_bytes()), now.plus_seconds(ADDRESS_SECONDS));
    let place = token_place(&digest);
    due::put(tx, expires_at, Due::KeyUrl(place))?;
    tx.put(&KEY_ADDRESSES, &place, &KeyAddressRow { digest, key_id: key.id.clone(), expires_at })
}

/// The key that waits at the address with this token, and its place.
///
/// # Errors
/// None waits there; or its workspace does not serve, where nobody gets a key either.
pub(super) fn waiting(read: &impl Read, now: Timestamp, token: &str) -> Result<(u128, Key), Abort<Refusal>> {
    let none = || Refusal::NotFound("key at this address: it was fetched, or its time is over".to_owned());
    let (digest, is_one) = (digest(token.as_bytes()), is_secret(token));
    let place = token_place(&digest);
    let row = read.get(&KEY_ADDRESSES, &place)?.filter(|row| is_one && constant_time_eq(&row.digest, &digest));
    let row = row.filter(|row| now < row.expires_at).ok_or_else(none)?;
    let key = keys::find(read, &row.key_id)?.filter(|key| key.revoked_at.is_none()).ok_or_else(none)?;
    serving(read, &workspaces::find(read, key.workspace)?.ok_or_else(none)?)?;
    Ok((place, key))
}

/// Fetches the key that waits at the address with this token, and gives it its secret, which was drawn before.
///
/// # Errors
/// As [`waiting`].
pub(super) fn fetch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    token: &str,
    prepared: PreparedKey,
) -> Result<(Key, PreparedKey), Abort<Refusal>> {
    let (place, key) = waiting(tx, now, token)?;
    let prepared = prepared.named(key.id.clone());
    if let Some(row) = tx.get(&KEY_ADDRESSES, &place)? {
        due::clear(tx, row.expires_at, Due::KeyUrl(place));
    }
    tx.delete(&KEY_ADDRESSES, &place);
    keys::put_secret(tx, &key, prepared.digest())?;
    Ok((key, prepared))
}

/// The time of an address is over: the key that nobody has fetched is revoked.
pub(crate) fn expire_address(tx: &mut WriteTx<'_>, now: Timestamp, place: u128) -> Result<(), Failure> {
    let Some(row) = tx.get(&KEY_ADDRESSES, &place)? else { return Ok(()) };
    tx.delete(&KEY_ADDRESSES, &place);
    match revoke(tx, now, None, &row.key_id) {
        Err(Abort::Failed(failure)) => Err(failure),
        // A key that is gone needs no end.
        Ok(_) | Err(Abort::Refused(_)) => Ok(()),
    }
}
