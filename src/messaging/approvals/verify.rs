//! What contradicts itself in the rows of approvals (S4): a verdict exactly where one has ended, one at most, an act behind
//! each yes and no; what falls due, and what they are found by.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::Status;
use super::rows::find;
use super::tables::{APPROVALS, BY_STATUS, LINKS, LINKS_OF, MATTERS, VERDICTS};
use crate::due::{self, Due};
use crate::model::Mark;

/// Everything that does.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &APPROVALS, findings, |key, row, findings| {
        let (approval, verdict) = (row.into_approval(), read.get(&VERDICTS, &key)?);
        if !read.contains(&MATTERS, &key)? {
            findings.push(format!("the approval {key:?} is about nothing"));
        }
        if !read.contains(&BY_STATUS, &(key.0, approval.status.code(), key.1))? {
            findings.push(format!("the approval {key:?} is not found by its status"));
        }
        let is_due = due::is_put_or_parked(read, key.0, (approval.expires_at, Due::Approval(key)))?;
        if (approval.status == Status::Pending) != is_due {
            findings.push(format!("the approval {key:?} is {:?}, and does not fall due so", approval.status));
        }
        let recorded = verdict.as_ref().map(|verdict| (verdict.status, Some(verdict.at)));
        let told = (approval.status != Status::Pending).then_some((approval.status, approval.decided_at));
        if recorded != told {
            findings.push(format!("the approval {key:?} is {:?}, and its verdict is not", approval.status));
        }
        Ok(())
    })?;
    each(read, &VERDICTS, findings, |key, row, findings| {
        if find(read, key)?.is_none() {
            findings.push(format!("there is a verdict on an approval {key:?} that is not there"));
        }
        let is_act = matches!(row.status, Status::Approved | Status::Rejected);
        if is_act != row.how.is_some() || is_act && row.by.is_empty() || row.status == Status::Pending {
            findings.push(format!("the approval {key:?} is {:?} without an act of somebody's", row.status));
        }
        Ok(())
    })?;
    each(read, &MATTERS, findings, |key, _, findings| {
        if find(read, key)?.is_none() {
            findings.push(format!("there is the matter of an approval {key:?} that is not there"));
        }
        Ok(())
    })?;
    each(read, &BY_STATUS, findings, |(workspace, code, id), Mark, findings| {
        if find(read, (workspace, id))?.is_none_or(|approval| approval.status.code() != code) {
            findings.push(format!("the approval {id:?} of {workspace:?} is found by a status that it has not"));
        }
        Ok(())
    })?;
    check_links(read, findings)
}

fn check_links(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &LINKS, findings, |place, row, findings| {
        let key = (row.workspace, row.approval);
        let is_found = read.contains(&LINKS_OF, &(key.0, key.1, place))?;
        if !is_found || find(read, key)?.is_none() {
            findings.push(format!("a link of {key:?} leads nowhere"));
        }
        Ok(())
    })?;
    each(read, &LINKS_OF, findings, |(workspace, id, place), Mark, findings| {
        if !read.contains(&LINKS, &place)? {
            findings.push(format!("the approval {id:?} of {workspace:?} counts a link that is not there"));
        }
        Ok(())
    })
}
