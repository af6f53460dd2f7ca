//! Who is in a room: reading, joining, leaving.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::tables::{MembersRow, ROOMS, ROOMS_OF_AGENTS};
use crate::model::{AgentKey, AgentNo, Mark, WorkspaceNo};

/// The agents that are in a room, retired ones too; `None`: there is no such room.
pub(crate) fn find(read: &impl Read, workspace: WorkspaceNo, room: &str) -> Result<Option<Vec<AgentNo>>, Failure> {
    Ok(read.get(&ROOMS, &(workspace, room.to_owned()))?.map(|MembersRow(members)| members))
}

/// Whether an agent is in a room.
pub(crate) fn is_member(read: &impl Read, agent: AgentKey, room: &str) -> Result<bool, Failure> {
    read.contains(&ROOMS_OF_AGENTS, &(agent.0, agent.1, room.to_owned()))
}

/// The rooms of a workspace behind a name, each with those who are in it, `most` at the most.
pub(crate) fn list(
    read: &impl Read,
    workspace: WorkspaceNo,
    after: Option<&str>,
    most: usize,
) -> Result<Vec<(String, Vec<AgentNo>)>, Failure> {
    let scan = Scan::prefix(&(workspace,)).limit(most);
    let scan = after.iter().fold(scan, |scan, after| scan.after(&(workspace, (*after).to_owned())));
    let rows = read.scan(&ROOMS, scan)?;
    Ok(rows.into_iter().map(|((_, room), MembersRow(members))| (room, members)).collect())
}

/// The rooms that an agent is in, by name.
pub(crate) fn of_agent(read: &impl Read, agent: AgentKey) -> Result<Vec<String>, Failure> {
    let rows = read.scan(&ROOMS_OF_AGENTS, Scan::prefix(&(agent.0, agent.1)))?;
    Ok(rows.into_iter().map(|((_, _, room), Mark)| room).collect())
}

/// Has an agent join a room, which is made if there is none. Again: nothing changes.
pub(crate) fn join(tx: &mut WriteTx<'_>, agent: AgentKey, room: &str) -> Result<(), Failure> {
    let mut members = find(tx, agent.0, room)?.unwrap_or_default();
    if let Err(place) = members.binary_search(&agent.1) {
        members.insert(place, agent.1);
        tx.put(&ROOMS, &(agent.0, room.to_owned()), &MembersRow(members))?;
        tx.put(&ROOMS_OF_AGENTS, &(agent.0, agent.1, room.to_owned()), &Mark)?;
    }
    Ok(())
}

/// Has an agent leave a room. `false`: it was not in it.
pub(crate) fn leave(tx: &mut WriteTx<'_>, agent: AgentKey, room: &str) -> Result<bool, Failure> {
    let Some(mut members) = find(tx, agent.0, room)? else { return Ok(false) };
    let Ok(place) = members.binary_search(&agent.1) else { return Ok(false) };
    members.remove(place);
    tx.put(&ROOMS, &(agent.0, room.to_owned()), &MembersRow(members))?;
    tx.delete(&ROOMS_OF_AGENTS, &(agent.0, agent.1, room.to_owned()));
    Ok(true)
}
