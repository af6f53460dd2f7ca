//! Storing a grant.

use quintet_storage::{Failure, Uuid, WriteTx};

use crate::access::{GRANT_VERSIONS, GRANTS, GrantId, GrantRow, GrantVersionRow, MarkRow, OPEN_GRANTS};
use crate::model::TenantId;

/// Stores a grant, and whether it is open. What its principal may is another thing from now on.
///
/// # Errors
/// Only the store's.
pub(super) fn put_grant(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    grant_id: GrantId,
    row: &GrantRow,
) -> Result<(), Failure> {
    let key = (tenant_id, grant_id);
    match row.intents.iter().any(|intent| intent.state.is_open()) {
        true => tx.put(&OPEN_GRANTS, &key, &MarkRow)?,
        false => tx.delete(&OPEN_GRANTS, &key),
    }
    let version = GrantVersionRow { version: tx.new_id().into_bytes() };
    tx.put(&GRANT_VERSIONS, &(tenant_id, Uuid::from_bytes(row.principal)), &version)?;
    tx.put(&GRANTS, &key, row)
}
