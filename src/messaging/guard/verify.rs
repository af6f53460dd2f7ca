//! What contradicts itself in the rows of the guard: an approval that was used up without having been given, or too late.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::{GOOD_SECONDS, RULES_MAX};
use super::tables::{RULES, USES, USES_BY_DIGEST};
use crate::approvals;
use crate::approvals::model::Status;

/// Everything that does.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &RULES, findings, |workspace, row, findings| {
        if row.rules.len() > RULES_MAX {
            findings.push(format!("{workspace:?} has more rules of its guard than it may"));
        }
        Ok(())
    })?;
    each(read, &USES, findings, |key, row, findings| {
        let Some(approval) = approvals::rows::find(read, key)? else {
            findings.push(format!("a use of a tool was raised as {key:?}, which is not there"));
            return Ok(());
        };
        if (approval.requester, approval.action_sha256) != (row.agent, row.digest) {
            findings.push(format!("the approval {key:?} is for another use than it was raised for"));
        }
        let Some(used_at) = row.used_at else { return Ok(()) };
        let is_good = approval.decided_at.is_some_and(|at| at <= used_at && used_at < at.plus_seconds(GOOD_SECONDS));
        if approval.status != Status::Approved || !is_good {
            findings.push(format!("the approval {key:?} was used, and did not allow it"));
        }
        Ok(())
    })?;
    each(read, &USES_BY_DIGEST, findings, |(workspace, agent, digest), row, findings| {
        let found = read.get(&USES, &(workspace, row.0))?;
        if found.is_none_or(|found| found.agent != agent || found.digest.as_slice() != digest) {
            findings.push(format!("a use of {agent:?} of {workspace:?} is found by what it is not"));
        }
        Ok(())
    })
}
