//! Listing keys.

use quintet_platform::access::{KeyRecord, find_key};
use quintet_storage::{Failure, Read, Scan, Uuid};

use crate::model::TenantId;
use crate::principals::KEYS_OF_PRINCIPALS;

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
    for ((.., key_id), _) in rows.into_iter().take(limit) {
        let key = find_key(read, &key_id)?;
        keys.push(key.ok_or_else(|| Failure::Damaged(format!("the key {key_id} of a principal is gone")))?);
    }
    Ok((keys, more))
}
