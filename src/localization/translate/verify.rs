//! Whether the rows of AI translate agree with the files they are about.

use std::collections::HashSet;

use quintet_storage::{Failure, Read};

use super::tables::{FAILED_DRAFTS, REMEMBERED_MAX};
use crate::content::keys_ever;
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    rows::each(read, &FAILED_DRAFTS, |(tenant_id, file_id, locale), row| {
        let mut complain =
            |what: &str| findings.push(format!("failed drafts of file {} in {locale}: {what}", file_id.0));
        let Some(keys) = keys_ever(read, tenant_id, file_id)? else {
            complain("there is no such file");
            return Ok(());
        };
        let numbers: HashSet<u64> = row.failed.iter().map(|one| one.number).collect();
        if numbers.len() != row.failed.len() || row.failed.is_empty() || row.failed.len() > REMEMBERED_MAX {
            complain("they are not what is kept of them");
        }
        if numbers.iter().any(|number| *number == 0 || *number > keys) {
            complain("they name a key that was never there");
        }
        if !row.failed.is_sorted_by_key(|one| one.at) {
            complain("they are not in the order of time");
        }
        Ok(())
    })?;
    Ok(findings)
}
