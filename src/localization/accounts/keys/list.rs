//! Listing keys.

use quintet_platform::access::{KeyRecord, find_key};
use quintet_storage::{Failure, Read, Scan, Uuid};

use crate::model::TenantId;
use crate::principals::{KEYS_OF_PRINCIPALS, KeyOfPrincipalRow};

/// A principal's keys behind `after`, the oldest first, revoked ones among them; and whether there are more.
///
/// # Errors
/// Only the store's.
pub fn list_keys(
    read: &impl Read,
    tenant_id: TenantId,
    principal_id: Uuid,
    after: Option<String>,
    limit: usize,
) -> Result<(Vec<KeyRecord>, bool), Failure> {
    let mut scan = Scan::prefix(&(tenant_id, principal_id)).limit(limit + 1);
    if let Some(after) = after {
        scan = scan.after(&(tenant_id, principal_id, after));
    }
    let rows = read.scan(&KEYS_OF_PRINCIPALS, scan)?;
    let more = rows.len() > limit;
    let mut keys = Vec::with_capacity(rows.len());
    for (place, row) in rows.into_iter().take(limit) {
        let key = find_key(read, &place.2)?;
        let key = key.ok_or_else(|| Failure::Damaged(format!("the key {} of a principal is gone", place.2)))?;
        keys.push(labelled(read, key, &place, &row)?);
    }
    Ok((keys, more))
}

/// A key with what its member calls it.
///
/// # Errors
/// Only the store's.
pub fn labelled(
    read: &impl Read,
    key: KeyRecord,
    place: &(TenantId, Uuid, String),
    row: &KeyOfPrincipalRow,
) -> Result<KeyRecord, Failure> {
    Ok(match row.label(read, place)? {
        Some(label) => KeyRecord { label, ..key },
        None => key,
    })
}
