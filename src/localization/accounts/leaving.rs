//! The one place that ends everything that lets a principal in, and says who may.

use quintet_platform::access::{self, AccessRefusal, Caller};
use quintet_platform::people::{forget_permits, record_member_ends};
use quintet_platform::service::Fault;
use quintet_platform::sessions::end_sessions_of;
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, Uuid, WriteTx};

use crate::access::{Intent, Target, granted, is_ours, prospects_of};
use crate::audit::{self, Actor, Event};
use crate::grants::revoke_all_of;
use crate::model::TenantId;
use crate::principals::KEYS_OF_PRINCIPALS;
use crate::refusal::Refusal;
use crate::session_events::record_ends;

/// Shuts a principal out for good, from the next request on: its sessions, its keys, its grants and what it is permitted in
/// the other services.
///
/// # Errors
/// Only the store's.
pub fn shut_out(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, principal_id: Uuid) -> Result<(), Failure> {
    let ended = end_sessions_of(tx, actor.tenant_id.0, principal_id)?;
    record_ends(tx, now, actor, &ended, "removed")?;
    record_member_ends(tx, now, &ended, &actor.principal_id.to_string())?;
    forget_permits(tx, actor.tenant_id.0, principal_id);
    revoke_keys(tx, now, actor, principal_id)?;
    revoke_all_of(tx, now, actor, principal_id)
}

/// Demands that a caller may shut a principal out, or take a key from it: nobody does that to who holds a permission over the
/// tenant (`org_…`) that he has not himself, or else who manages members could be left alone with the tenant. What is held in
/// workspaces and projects protects nobody: members are removed by those who manage them, as the contract says.
///
/// # Errors
/// [`Fault::Forbidden`]
pub fn demand_may_shut_out(
    tx: &WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    by: &Caller,
    principal_id: Uuid,
) -> Result<(), Abort<Refusal>> {
    if principal_id == by.principal_id {
        return Ok(());
    }
    let granted_there = prospects_of(tx, tenant_id, principal_id)?;
    let mut texts: Vec<String> = granted_there.into_iter().flat_map(|intent| intent.permissions).collect();
    for ((.., key_id), _) in tx.scan(&KEYS_OF_PRINCIPALS, Scan::prefix(&(tenant_id, principal_id)))? {
        let key = access::find_key(tx, &key_id)?
            .filter(|key| key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| expires_at > now));
        texts.extend(key.into_iter().flat_map(|key| key.permissions));
    }
    texts.retain(|text| is_ours(text) && text.starts_with("org_"));
    let held = Intent { target: Target::Org, permissions: texts };
    if granted(tx, by)?.holds(&held, None) { Ok(()) } else { Err(Refusal::Fault(Fault::Forbidden).into()) }
}

/// A principal has a bounded number of keys.
fn revoke_keys(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, principal_id: Uuid) -> Result<(), Failure> {
    let tenant_id = actor.tenant_id;
    let keys = tx.scan(&KEYS_OF_PRINCIPALS, Scan::prefix(&(tenant_id, principal_id)))?;
    for ((.., key_id), _) in keys {
        let key = access::find_key(tx, &key_id)?;
        if key.is_none_or(|key| key.revoked_at.is_none()) {
            revoke(tx, now, actor, &key_id)?;
        }
    }
    Ok(())
}

/// Revokes a key that there is, and records it.
///
/// # Errors
/// Only the store's.
pub(super) fn revoke(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, key_id: &str) -> Result<(), Failure> {
    match access::revoke_key(tx, now, Some(actor.tenant_id.0), key_id) {
        Ok(key) => record_revoked(tx, now, actor, &key).map(drop),
        Err(Abort::Refused(AccessRefusal::KeyNotFound)) => {
            Err(Failure::Damaged(format!("the key {key_id} of a principal is gone")))
        }
        Err(Abort::Refused(other)) => Err(Failure::Io(other.to_string())),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// Records that a key was revoked; the number of the event.
///
/// # Errors
/// Only the store's.
pub(super) fn record_revoked(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    key: &access::KeyRecord,
) -> Result<u64, Failure> {
    let event = Event { target_id: key.key_id.clone(), ..Event::about("api_key.revoke", "api_key", Uuid::nil()) };
    audit::record(tx, now, actor, event.with([("principal_id", key.principal_id.to_string().into())]))
}
