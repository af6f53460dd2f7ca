//! An agent that retires goes out of the lists of its rooms, which each send to them walks; it knows its rooms still. One that
//! comes back is in them from then on, and goes into their lists. Of many rooms some are done at once, and the others by what
//! falls due.

use quintet_storage::{Failure, Read as _, Scan, Timestamp, WriteTx};

use super::members::{enter, exit};
use super::tables::{MOVES, Move, MovesRow, ROOMS_OF_AGENTS};
use crate::due::{self, Due};
use crate::identity::mailboxes;
use crate::model::{AgentKey, Mark};

/// So many rooms are done in one transaction.
const SLICE: usize = 50;

/// Takes an agent that retires out of the lists of its rooms.
pub(crate) fn retire(tx: &mut WriteTx<'_>, now: Timestamp, agent: AgentKey) -> Result<(), Failure> {
    slice(tx, now, agent, None, true)
}

/// Has an agent that is not retired any more be in the rooms that it knows.
pub(crate) fn revive(tx: &mut WriteTx<'_>, now: Timestamp, agent: AgentKey) -> Result<(), Failure> {
    slice(tx, now, agent, None, false)
}

/// Goes on with an agent's rooms as it is now: retired or not.
pub(crate) fn go_on(tx: &mut WriteTx<'_>, now: Timestamp, agent: AgentKey) -> Result<(), Failure> {
    let MovesRow(moves) = tx.get(&MOVES, &agent.0)?.unwrap_or_default();
    let Some(Move { to, .. }) = moves.into_iter().find(|one| one.agent == agent.1) else { return Ok(()) };
    let is_retired = mailboxes::get(tx, agent)?.is_retired;
    slice(tx, now, agent, Some(to), is_retired)
}

/// Does some rooms, those behind one if so, and says where it goes on.
fn slice(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    after: Option<String>,
    is_retired: bool,
) -> Result<(), Failure> {
    let scan = Scan::prefix(&(agent.0, agent.1)).limit(SLICE + 1);
    let scan = after.into_iter().fold(scan, |scan, after| scan.after(&(agent.0, agent.1, after)));
    let mut rooms: Vec<String> =
        tx.scan(&ROOMS_OF_AGENTS, scan)?.into_iter().map(|((_, _, room), Mark)| room).collect();
    let has_more = rooms.len() > SLICE;
    rooms.truncate(SLICE);
    for room in &rooms {
        if is_retired {
            exit(tx, agent, room)?;
        } else {
            enter(tx, agent, room)?;
        }
    }
    note(tx, now, agent, rooms.pop().filter(|_| has_more))
}

/// Notes how far an agent is; `None`: all is done.
fn note(tx: &mut WriteTx<'_>, now: Timestamp, agent: AgentKey, to: Option<String>) -> Result<(), Failure> {
    let MovesRow(mut moves) = tx.get(&MOVES, &agent.0)?.unwrap_or_default();
    let before = moves.len();
    moves.retain(|one| one.agent != agent.1);
    match to {
        Some(to) => {
            moves.push(Move { agent: agent.1, to });
            due::put(tx, now, Due::Rooms(agent))?;
        }
        None if moves.len() == before => return Ok(()),
        None => {}
    }
    if moves.is_empty() {
        tx.delete(&MOVES, &agent.0);
        return Ok(());
    }
    tx.put(&MOVES, &agent.0, &MovesRow(moves))
}
