//! Whether grants agree with their index.

use quintet_storage::{Failure, Read, Uuid};

use super::tables::{GRANTS, GRANTS_BY_PRINCIPAL};
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut rows = 0_u64;
    rows::each(read, &GRANTS, |(tenant_id, id), row| {
        rows += 1;
        let principal = Uuid::from_bytes(row.principal);
        if !read.contains(&GRANTS_BY_PRINCIPAL, &(tenant_id, principal, id))? {
            findings.push(format!("grant {}: its principal does not have it", id.0));
        }
        Ok(())
    })?;
    let marks = rows::count(read, &GRANTS_BY_PRINCIPAL)?;
    if rows != marks {
        findings.push(format!("{rows} grants are in the index {marks} times"));
    }
    Ok(findings)
}
