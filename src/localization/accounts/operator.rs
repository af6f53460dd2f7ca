//! The operator's side: keys from the command line, each of which acts as a service account of its own (localization, S1).

use quintet_platform::access::{IssuedKey, KeyRecord, find_key};
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, WriteTx};

use super::keys::note_key;
use super::leaving::record_revoked;
use super::service_accounts::{Made, add_account, revoke_account};
use crate::access::is_ours;
use crate::audit::Actor;
use crate::model::TenantId;
use crate::principals::{ACCOUNTS, AccountId, AccountStatus, KEYS_OF_PRINCIPALS};

/// Makes the service account of a key that was just issued from the command line, if the key is for localization at all: if it
/// carries a permission of it, or is to have a template.
///
/// # Errors
/// Only the store's.
pub fn key_issued(tx: &mut WriteTx<'_>, now: Timestamp, issued: &IssuedKey, has_template: bool) -> Result<(), Failure> {
    if !has_template && !issued.permissions.iter().any(|text| is_ours(text)) {
        return Ok(());
    }
    let actor = Actor::operator(TenantId(issued.tenant_id));
    match add_account(tx, now, &actor, issued.label.clone(), Made::OfKey(issued.principal_id)) {
        Ok(_) => note_key(tx, now, &actor, issued, None),
        Err(Abort::Failed(failure)) => Err(failure),
        Err(Abort::Refused(refusal)) => Err(Failure::Io(format!("{refusal:?}"))),
    }
}

/// Records that a key was revoked from the command line, if it is one of localization's. A service account that was made for
/// such a key, and has no other, goes with it.
///
/// # Errors
/// Only the store's.
pub fn key_revoked(tx: &mut WriteTx<'_>, now: Timestamp, key: &KeyRecord) -> Result<(), Failure> {
    let actor = Actor::operator(TenantId(key.tenant_id));
    let own = (actor.tenant_id, key.principal_id);
    if !tx.contains(&KEYS_OF_PRINCIPALS, &(own.0, own.1, key.key_id.clone()))? {
        return Ok(());
    }
    record_revoked(tx, now, &actor, key)?;
    let account_id = AccountId(key.principal_id);
    let account = tx.get(&ACCOUNTS, &(own.0, account_id))?;
    if account.is_none_or(|account| !account.is_operators || account.status == AccountStatus::Revoked) {
        return Ok(());
    }
    for ((.., other), _) in tx.scan(&KEYS_OF_PRINCIPALS, Scan::prefix(&own))? {
        if find_key(tx, &other)?.is_some_and(|other| other.revoked_at.is_none()) {
            return Ok(());
        }
    }
    match revoke_account(tx, now, &actor, account_id) {
        Ok(_) | Err(Abort::Refused(_)) => Ok(()),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
