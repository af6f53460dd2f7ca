//! Whether links, sessions of operators, permits and what finds them agree.

use quintet_storage::{Failure, Read};

use super::tables::{ENDS, EndRow, LINKS, OPERATORS, PERMITS};
use crate::access::tables::TENANTS;
use crate::verify::each;

/// Adds what contradicts itself.
///
/// # Errors
/// Only the store's.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &LINKS, findings, |id, row, findings| {
        if read.get(&ENDS, &(row.end_hour(), id))? != Some(EndRow::Link) {
            findings.push(format!("link {id} is not found by its end"));
        }
        Ok(())
    })?;
    each(read, &OPERATORS, findings, |id, row, findings| {
        if read.get(&ENDS, &(row.end_hour(), id))? != Some(EndRow::Operator) {
            findings.push(format!("session {id} of an operator is not found by its end"));
        }
        if row.ends_at < row.created_at || row.last_used_at < row.created_at {
            findings.push(format!("session {id} of an operator ends, or is used, before it began"));
        }
        Ok(())
    })?;
    each(read, &ENDS, findings, |(hour, id), what, findings| {
        let ends = match what {
            EndRow::Link => read.get(&LINKS, &id)?.map(|row| row.end_hour()),
            EndRow::Operator => read.get(&OPERATORS, &id)?.map(|row| row.end_hour()),
        };
        if ends != Some(hour) {
            findings.push(format!("the index by end finds {id}, which does not end then"));
        }
        Ok(())
    })?;
    each(read, &PERMITS, findings, |(tenant_id, principal_id), _, findings| {
        if !read.contains(&TENANTS, &tenant_id)? {
            findings.push(format!("{principal_id} is permitted something in tenant {tenant_id}, which does not exist"));
        }
        Ok(())
    })
}
