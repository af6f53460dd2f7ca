//! What contradicts itself in the rows of blocks.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::rows::find;
use super::tables::{BLOCKERS, BLOCKS, BlockersRow};

/// Everything that does.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &BLOCKS, findings, |(workspace, blocker, blocked), row, findings| {
        let block = row.into_block();
        let blockers = read.get(&BLOCKERS, &(workspace, blocked))?;
        let says_so = |BlockersRow(all): &BlockersRow| all.contains(&(blocker, block.expires_at));
        if !blockers.as_ref().is_some_and(says_so) {
            findings.push(format!("{blocker:?} blocks {blocked:?}, whose blockers do not name it"));
        }
        Ok(())
    })?;
    each(read, &BLOCKERS, findings, |(workspace, blocked), BlockersRow(all), findings| {
        for (blocker, expires_at) in all {
            let block = find(read, (workspace, blocker), blocked)?;
            if block.is_none_or(|block| block.expires_at != expires_at) {
                findings.push(format!("the blockers of {blocked:?} name {blocker:?}, which does not block it so"));
            }
        }
        Ok(())
    })
}
