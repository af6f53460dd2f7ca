//! Whether members and service accounts have the short ids that they say.

use quintet_storage::{Failure, Read};

use crate::principals::{ACCOUNTS, MEMBERS};
use crate::rows;
use crate::spaces::{ShortIdRow, owner_of};

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    rows::each(read, &MEMBERS, |(tenant_id, id), row| {
        if owner_of(read, tenant_id, &row.short_id)? != Some(ShortIdRow::Member(id)) {
            findings.push(format!("member {}: its short id is not its own", id.0));
        }
        Ok(())
    })?;
    rows::each(read, &ACCOUNTS, |(tenant_id, id), row| {
        if owner_of(read, tenant_id, &row.short_id)? != Some(ShortIdRow::Account(id)) {
            findings.push(format!("service account {}: its short id is not its own", id.0));
        }
        Ok(())
    })?;
    Ok(findings)
}
