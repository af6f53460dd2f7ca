//! What contradicts itself in the rows of rooms.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::members::find;
use super::tables::{COUNTS, CountRow, MOVES, MembersRow, MovesRow, ROOMS, ROOMS_OF_AGENTS, SCHEMAS};
use crate::identity::mailboxes;
use crate::model::{AgentKey, WorkspaceNo};

/// Everything that does. `moving`: gets the agents for which something must fall due.
pub(crate) fn verify(read: &impl Read, moving: &mut Vec<AgentKey>, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut real: BTreeMap<WorkspaceNo, u32> = BTreeMap::new();
    each(read, &ROOMS, findings, |(workspace, room), MembersRow(members), findings| {
        *real.entry(workspace).or_default() += 1;
        if !members.is_sorted_by(|one, other| one < other) {
            findings.push(format!("the members of the room {room} are in no order"));
        }
        for no in members {
            if !read.contains(&ROOMS_OF_AGENTS, &(workspace, no, room.clone()))? {
                findings.push(format!("the agent {no:?} is in the room {room} and does not say so"));
            }
            if mailboxes::find(read, (workspace, no))?.is_none() {
                findings.push(format!("in the room {room} is an agent {no:?} that is not there"));
            }
        }
        Ok(())
    })?;
    each(read, &SCHEMAS, findings, |(workspace, room), _, findings| {
        if find(read, workspace, &room)?.is_none() {
            findings.push(format!("there is a schema of the room {room}, and no such room"));
        }
        Ok(())
    })?;
    each(read, &COUNTS, findings, |workspace, CountRow(count), findings| {
        let real = real.get(&workspace).copied().unwrap_or_default();
        if count != real {
            findings.push(format!("{workspace:?} has {real} rooms, and counts {count}"));
        }
        Ok(())
    })?;
    each(read, &ROOMS_OF_AGENTS, findings, |(workspace, no, room), _, findings| {
        let is_there = find(read, workspace, &room)?.is_some_and(|members| members.contains(&no));
        if !is_there && mailboxes::find(read, (workspace, no))?.is_none_or(|mailbox| !mailbox.is_retired) {
            findings.push(format!("the agent {no:?} says that it is in the room {room}, and is not"));
        }
        Ok(())
    })?;
    each(read, &MOVES, findings, |workspace, MovesRow(moves), findings| {
        for one in moves {
            if mailboxes::find(read, (workspace, one.agent))?.is_none() {
                findings.push(format!("an agent {:?} is put into its rooms that is not there", one.agent));
            }
            moving.push((workspace, one.agent));
        }
        Ok(())
    })
}
