//! Who is in a room: reading, joining, leaving.

use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::counts;
use super::schemas::{forget_schema, schema_of};
use super::tables::{MOVES, MembersRow, MovesRow, ROOM_HISTORY, ROOMS, ROOMS_OF_AGENTS};
use crate::model::{AgentKey, AgentNo, Mark, WorkspaceNo};
use crate::refusal::Refusal;

/// Rooms that an agent can be in.
const ROOMS_MAX: usize = 1_000;

/// The agents that are in a room, some of which may be retired: those go out of the list soon; `None`: there is no such room.
/// One that went while a retired agent knew it is there again as soon as that agent is back, before its row is.
pub(crate) fn find(read: &impl Read, workspace: WorkspaceNo, room: &str) -> Result<Option<Vec<AgentNo>>, Failure> {
    let listed = list_of(read, workspace, room)?;
    let is_there = listed.is_some();
    let moves = read.get(&MOVES, &workspace)?.unwrap_or_default();
    let members = with_moving(read, (workspace, room), listed.unwrap_or_default(), &moves)?;
    Ok(Some(members).filter(|members| is_there || !members.is_empty()))
}

/// The list of a room's members, in which some may not be yet, or still.
pub(super) fn list_of(read: &impl Read, workspace: WorkspaceNo, room: &str) -> Result<Option<Vec<AgentNo>>, Failure> {
    Ok(read.get(&ROOMS, &(workspace, room.to_owned()))?.map(|MembersRow(members)| members))
}

/// A list with those who are in the room and not in the list yet.
fn with_moving(
    read: &impl Read,
    (workspace, room): (WorkspaceNo, &str),
    mut members: Vec<AgentNo>,
    MovesRow(moves): &MovesRow,
) -> Result<Vec<AgentNo>, Failure> {
    for one in moves {
        let Err(place) = members.binary_search(&one.agent) else { continue };
        if is_member(read, (workspace, one.agent), room)? {
            members.insert(place, one.agent);
        }
    }
    Ok(members)
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
    let moves = read.get(&MOVES, &workspace)?.unwrap_or_default();
    let rooms = read.scan(&ROOMS, scan)?.into_iter().map(|((_, room), MembersRow(members))| {
        let members = with_moving(read, (workspace, &room), members, &moves)?;
        Ok((room, members))
    });
    rooms.collect()
}

/// The rooms that an agent is in, by name.
pub(crate) fn of_agent(read: &impl Read, agent: AgentKey) -> Result<Vec<String>, Failure> {
    let rows = read.scan(&ROOMS_OF_AGENTS, Scan::prefix(&(agent.0, agent.1)))?;
    Ok(rows.into_iter().map(|((_, _, room), Mark)| room).collect())
}

/// Has an agent join a room, which is made if there is none. Again: nothing changes.
///
/// # Errors
/// It is in as many as it may be, or there are as many as there may be.
pub(crate) fn join(tx: &mut WriteTx<'_>, agent: AgentKey, room: &str) -> Result<(), Abort<Refusal>> {
    if is_member(tx, agent, room)? {
        return Ok(());
    }
    let own = tx.scan(&ROOMS_OF_AGENTS, Scan::prefix(&(agent.0, agent.1)).limit(ROOMS_MAX))?;
    if own.len() >= ROOMS_MAX {
        return Err(Refusal::LimitReached("rooms", ROOMS_MAX as u64).into());
    }
    if list_of(tx, agent.0, room)?.is_none() {
        counts::check_room(tx, agent.0)?;
    }
    tx.put(&ROOMS_OF_AGENTS, &(agent.0, agent.1, room.to_owned()), &Mark)?;
    Ok(enter(tx, agent, room)?)
}

/// Has an agent leave a room, which goes if it is the last one there, and nothing was ever sent to it or wanted of what is.
/// `false`: it was not in it.
pub(crate) fn leave(tx: &mut WriteTx<'_>, agent: AgentKey, room: &str) -> Result<bool, Failure> {
    if !is_member(tx, agent, room)? {
        return Ok(false);
    }
    tx.delete(&ROOMS_OF_AGENTS, &(agent.0, agent.1, room.to_owned()));
    exit(tx, agent, room)?;
    let history = Scan::prefix(&(agent.0, room.to_owned())).limit(1);
    if schema_of(tx, agent.0, room)?.version == 0 && tx.scan(&ROOM_HISTORY, history)?.is_empty() {
        forget_empty(tx, agent.0, room)?;
    }
    Ok(true)
}

/// Forgets a room if nobody is in it. What was sent to it stays under its name.
pub(super) fn forget_empty(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, room: &str) -> Result<(), Failure> {
    if list_of(tx, workspace, room)?.is_none() || find(tx, workspace, room)?.is_some_and(|members| !members.is_empty())
    {
        return Ok(());
    }
    counts::take(tx, workspace)?;
    forget_schema(tx, workspace, room);
    tx.delete(&ROOMS, &(workspace, room.to_owned()));
    Ok(())
}

/// Puts an agent into the list of a room.
pub(super) fn enter(tx: &mut WriteTx<'_>, agent: AgentKey, room: &str) -> Result<(), Failure> {
    let known = list_of(tx, agent.0, room)?;
    if known.is_none() {
        counts::add(tx, agent.0)?;
    }
    let mut members = known.unwrap_or_default();
    let Err(place) = members.binary_search(&agent.1) else { return Ok(()) };
    members.insert(place, agent.1);
    tx.put(&ROOMS, &(agent.0, room.to_owned()), &MembersRow(members))
}

/// Takes an agent out of the list of a room.
pub(super) fn exit(tx: &mut WriteTx<'_>, agent: AgentKey, room: &str) -> Result<(), Failure> {
    let mut members = list_of(tx, agent.0, room)?.unwrap_or_default();
    let Ok(place) = members.binary_search(&agent.1) else { return Ok(()) };
    members.remove(place);
    tx.put(&ROOMS, &(agent.0, room.to_owned()), &MembersRow(members))
}
