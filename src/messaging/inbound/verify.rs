//! What contradicts itself in the rows of inbound endpoints (6-messaging.md, S4).

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::EndpointId;
use super::tables::{BY_ID, COUNTS, ENDPOINTS};
use super::{replays, rows};
use crate::identity::agents;
use crate::mail::verify::Calls;

/// Everything that does: each endpoint is found by its id, belongs to an agent that there is, and has counted the calls that
/// became messages since it was made.
pub(crate) fn verify(read: &impl Read, calls: &Calls, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &ENDPOINTS, findings, |agent, row, findings| {
        let endpoint = row.into_endpoint();
        if rows::owner(read, endpoint.id)? != Some(agent) {
            findings.push(format!("the inbound endpoint of {agent:?} is not found by its id"));
        }
        if agents::find(read, agent)?.is_none() {
            findings.push(format!("an inbound endpoint is of {agent:?}, which is not there"));
        }
        // Ids rise, so that what came to an earlier endpoint of the agent stands before this one's.
        let since = calls.get(&agent).map_or(0, |all| all.iter().filter(|id| id.0 > endpoint.id.0).count());
        let accepted = rows::counts(read, agent)?.accepted;
        if !read.contains(&COUNTS, &agent)? || u64::try_from(since).ok() != Some(accepted) {
            findings.push(format!("calls of {agent:?} have become {since} messages, and {accepted} are counted"));
        }
        Ok(())
    })?;
    each(read, &BY_ID, findings, |id: EndpointId, row, findings| {
        let agent = (row.workspace, row.agent);
        if rows::find(read, agent)?.is_none_or(|endpoint| endpoint.id != id) {
            findings.push(format!("an id leads to an inbound endpoint of {agent:?} that is not there"));
        }
        Ok(())
    })?;
    each(read, &COUNTS, findings, |agent, _, findings| {
        if !read.contains(&ENDPOINTS, &agent)? {
            findings.push(format!("calls of {agent:?} are counted, which has no inbound endpoint"));
        }
        Ok(())
    })?;
    replays::verify(read, findings)
}
