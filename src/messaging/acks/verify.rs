//! What contradicts itself in the rows of acknowledgements.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::rows::due;
use super::tables::{AWAITED, OWED};
use crate::due::is_put_or_parked;

/// Everything that does: what is owed is awaited by whoever sent the message, and looked at when it says, and so the other
/// way round.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &OWED, findings, |(workspace, debtor, message), row, findings| {
        let owed = row.into_owed();
        if !read.contains(&AWAITED, &(workspace, owed.sender, message, debtor))? {
            findings.push(format!("what {debtor:?} owes for {message:?} is awaited by nobody"));
        }
        if !is_put_or_parked(read, workspace, (owed.looked_at, due((workspace, debtor), message)))? {
            findings.push(format!("what {debtor:?} owes for {message:?} is not looked at when it says"));
        }
        Ok(())
    })?;
    each(read, &AWAITED, findings, |(workspace, sender, message, debtor), _, findings| {
        let owed = read.get(&OWED, &(workspace, debtor, message))?;
        if owed.is_none_or(|row| row.into_owed().sender != sender) {
            findings.push(format!("{sender:?} awaits of {debtor:?} what it does not owe for {message:?}"));
        }
        Ok(())
    })
}
