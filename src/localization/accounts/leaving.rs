//! The one place that ends everything that lets a principal in.

use quintet_platform::access::{self, AccessRefusal};
use quintet_platform::sessions::end_sessions_of;
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, Uuid, WriteTx};

use crate::audit::Actor;
use crate::model::TenantId;
use crate::principals::KEYS_OF_PRINCIPALS;
use crate::session_events::record_ends;

/// Shuts a principal out for good, from the next request on: its keys and sessions.
///
/// # Errors
/// Only the store's.
pub fn shut_out(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, principal_id: Uuid) -> Result<(), Failure> {
    revoke_keys(tx, now, actor.tenant_id, principal_id)?;
    let ended = end_sessions_of(tx, actor.tenant_id.0, principal_id)?;
    record_ends(tx, now, actor, &ended, "removed")
}

/// A principal has a bounded number of keys.
fn revoke_keys(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId, principal_id: Uuid) -> Result<(), Failure> {
    let keys = tx.scan(&KEYS_OF_PRINCIPALS, Scan::prefix(&(tenant_id, principal_id)))?;
    for ((.., key_id), _) in keys {
        match access::revoke_key(tx, now, Some(tenant_id.0), &key_id) {
            Ok(_) => {}
            Err(Abort::Refused(AccessRefusal::KeyNotFound)) => {
                return Err(Failure::Damaged(format!("the key {key_id} of a principal is gone")));
            }
            Err(Abort::Refused(other)) => return Err(Failure::Io(other.to_string())),
            Err(Abort::Failed(failure)) => return Err(failure),
        }
    }
    Ok(())
}
