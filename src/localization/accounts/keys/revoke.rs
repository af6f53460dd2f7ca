//! Revoking a key.

use quintet_platform::access::{Caller, KeyRecord, find_key};
use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::list::labelled;
use crate::accounts::leaving::{demand_may_shut_out, revoke};
use crate::audit::Actor;
use crate::model::TenantId;
use crate::principals::{ACCOUNTS, AccountId, KEYS_OF_PRINCIPALS, MEMBERS, MemberId};
use crate::refusal::Refusal;

/// Revokes a key of a member or service account, one from the command line as well. Again: the same answer.
///
/// # Errors
/// [`Refusal::NotFound`], then that the caller may not.
pub fn revoke_key(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    by: &Caller,
    key_id: &str,
) -> Result<KeyRecord, Abort<Refusal>> {
    let key = get_key(tx, actor.tenant_id, key_id)?;
    demand_may_shut_out(tx, now, actor.tenant_id, by, key.principal_id)?;
    if key.revoked_at.is_none() {
        revoke(tx, now, actor, key_id)?;
    }
    get_key(tx, actor.tenant_id, key_id)
}

/// A key of one of the tenant's members or service accounts.
fn get_key(read: &impl Read, tenant_id: TenantId, key_id: &str) -> Result<KeyRecord, Abort<Refusal>> {
    let key = find_key(read, key_id)?.filter(|key| key.tenant_id == tenant_id.0).ok_or(Refusal::NotFound)?;
    let is_known = read.contains(&MEMBERS, &(tenant_id, MemberId(key.principal_id)))?
        || read.contains(&ACCOUNTS, &(tenant_id, AccountId(key.principal_id)))?;
    if !is_known {
        return Err(Refusal::NotFound.into());
    }
    let place = (tenant_id, key.principal_id, key.key_id.clone());
    match read.get(&KEYS_OF_PRINCIPALS, &place)? {
        Some(row) => Ok(labelled(read, key, &place, &row)?),
        None => Ok(key),
    }
}
