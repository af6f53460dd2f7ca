//! What contradicts itself in the rows of verdicts.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Uuid};

use super::tables::{LISTS, ListRow, VERDICTS};

/// Everything that does: a message's list has all of its verdicts, and each is there.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &LISTS, findings, |(workspace, message), ListRow(all), findings| {
        for given in all {
            let row = read.get(&VERDICTS, &(workspace, message, Uuid::from_bytes(given.id)))?;
            if row.is_none_or(|row| row.runner != given.runner) {
                findings.push(format!("{message:?} has no verdict of {} that it lists", given.runner));
            }
        }
        Ok(())
    })?;
    each(read, &VERDICTS, findings, |(workspace, message, id), _, findings| {
        let list = read.get(&LISTS, &(workspace, message))?;
        if list.is_some_and(|ListRow(all)| all.iter().all(|given| given.id != id.into_bytes())) {
            findings.push(format!("{message:?} does not list its verdict {id}"));
        }
        Ok(())
    })
}
