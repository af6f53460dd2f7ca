//! What members may do in the services other than localization.

use quintet_storage::{Failure, Read, Timestamp, Uuid, WriteTx};

use super::deeds::record_deed;
use super::model::{Act, PERMITS_MAX};
use super::tables::{PERMITS, PermitsRow};

/// What a member may do, in order.
///
/// # Errors
/// Only the store's.
pub fn permits_of(read: &impl Read, tenant_id: Uuid, principal_id: Uuid) -> Result<Vec<String>, Failure> {
    Ok(read.get(&PERMITS, &(tenant_id, principal_id))?.map(|row| row.permissions).unwrap_or_default())
}

/// Lets a member do more; all that it may. Names beyond a hundred are left out: there are not so many.
///
/// # Errors
/// Only the store's.
pub fn permit(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (tenant_id, principal_id): (Uuid, Uuid),
    permissions: &[String],
    by: &str,
) -> Result<Vec<String>, Failure> {
    let mut all = permits_of(tx, tenant_id, principal_id)?;
    all.extend(permissions.iter().cloned());
    put(tx, now, (tenant_id, principal_id), all, by)
}

/// Lets a member do less; all that it may.
///
/// # Errors
/// Only the store's.
pub fn forbid(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (tenant_id, principal_id): (Uuid, Uuid),
    permissions: &[String],
    by: &str,
) -> Result<Vec<String>, Failure> {
    let mut left = permits_of(tx, tenant_id, principal_id)?;
    left.retain(|name| !permissions.contains(name));
    put(tx, now, (tenant_id, principal_id), left, by)
}

fn put(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: (Uuid, Uuid),
    mut permissions: Vec<String>,
    by: &str,
) -> Result<Vec<String>, Failure> {
    permissions.sort();
    permissions.dedup();
    permissions.truncate(PERMITS_MAX);
    if permissions != permits_of(tx, key.0, key.1)? {
        match permissions.is_empty() {
            true => tx.delete(&PERMITS, &key),
            false => tx.put(&PERMITS, &key, &PermitsRow { permissions: permissions.clone() })?,
        }
        record_deed(tx, now, Act::Permits, by, &key.1.to_string())?;
    }
    Ok(permissions)
}

/// Takes everything from a member that has been removed.
pub fn forget_permits(tx: &mut WriteTx<'_>, tenant_id: Uuid, principal_id: Uuid) {
    tx.delete(&PERMITS, &(tenant_id, principal_id));
}
