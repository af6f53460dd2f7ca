//! Whether what was spent and the order in which it goes agree.

use quintet_storage::{Failure, Read};

use super::tables::{Mark, SPENT, SPENT_BY_EXPIRY};
use crate::verify::each;

/// Adds what contradicts itself.
///
/// # Errors
/// Only the store's.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &SPENT, findings, |name, row, findings| {
        if !read.contains(&SPENT_BY_EXPIRY, &(row.hour(), name))? {
            findings.push(format!("the spent name {name:032x} never goes"));
        }
        Ok(())
    })?;
    each(read, &SPENT_BY_EXPIRY, findings, |(hour, name), Mark, findings| {
        if read.get(&SPENT, &name)?.is_none_or(|row| row.hour() != hour) {
            findings.push(format!("the spent name {name:032x} goes in hour {hour}, but there is none"));
        }
        Ok(())
    })
}
