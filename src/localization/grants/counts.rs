//! How many grants a tenant has.

use quintet_storage::{Failure, Read, Scan};

use crate::access::{GRANT_COUNTS, GRANTS, GrantCountsRow};
use crate::model::TenantId;
use crate::rows;

/// How many grants a tenant has. In tenants whose grants are older than the counts they are counted here.
///
/// # Errors
/// Only the store's.
pub fn counts_of(read: &impl Read, tenant_id: TenantId) -> Result<GrantCountsRow, Failure> {
    if let Some(counts) = read.get(&GRANT_COUNTS, &tenant_id)? {
        return Ok(counts);
    }
    let mut standing = 0;
    rows::each_of(
        read,
        &GRANTS,
        || Scan::prefix(&(tenant_id,)),
        |_, _| {
            standing += 1;
            Ok::<(), Failure>(())
        },
    )?;
    Ok(GrantCountsRow { standing, revoked: 0 })
}
