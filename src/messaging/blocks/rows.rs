//! Who has blocked whom: reading and keeping.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::model::Block;
use super::tables::{BLOCKERS, BLOCKS, BlockRow, BlockersRow};
use crate::model::{AgentKey, AgentNo};

/// The agents that take nothing from this one at an instant.
pub(crate) fn blockers_of(read: &impl Read, agent: AgentKey, now: Timestamp) -> Result<Vec<AgentNo>, Failure> {
    let Some(BlockersRow(all)) = read.get(&BLOCKERS, &agent)? else { return Ok(Vec::new()) };
    let active = all.into_iter().filter(|(_, expires_at)| expires_at.is_none_or(|at| now < at));
    Ok(active.map(|(blocker, _)| blocker).collect())
}

/// An agent's block of another, lapsed or not.
pub(crate) fn find(read: &impl Read, blocker: AgentKey, blocked: AgentNo) -> Result<Option<Block>, Failure> {
    Ok(read.get(&BLOCKS, &(blocker.0, blocker.1, blocked))?.map(BlockRow::into_block))
}

/// All blocks of an agent, lapsed ones too.
pub(crate) fn of_agent(read: &impl Read, blocker: AgentKey) -> Result<Vec<(AgentNo, Block)>, Failure> {
    let rows = read.scan(&BLOCKS, Scan::prefix(&(blocker.0, blocker.1)))?;
    Ok(rows.into_iter().map(|((_, _, blocked), row)| (blocked, row.into_block())).collect())
}

/// Keeps a block, a new one as well.
pub(crate) fn put(tx: &mut WriteTx<'_>, blocker: AgentKey, blocked: AgentNo, block: Block) -> Result<(), Failure> {
    let expires_at = block.expires_at;
    tx.put(&BLOCKS, &(blocker.0, blocker.1, blocked), &BlockRow::of(block))?;
    change_blockers(tx, (blocker.0, blocked), |all| {
        all.retain(|(one, _)| *one != blocker.1);
        all.push((blocker.1, expires_at));
    })
}

/// Ends a block.
pub(crate) fn remove(tx: &mut WriteTx<'_>, blocker: AgentKey, blocked: AgentNo) -> Result<(), Failure> {
    tx.delete(&BLOCKS, &(blocker.0, blocker.1, blocked));
    change_blockers(tx, (blocker.0, blocked), |all| all.retain(|(one, _)| *one != blocker.1))
}

/// Counts a message that was refused for a block.
pub(crate) fn count_suppressed(tx: &mut WriteTx<'_>, blocker: AgentKey, blocked: AgentNo) -> Result<(), Failure> {
    let Some(mut block) = find(tx, blocker, blocked)? else { return Ok(()) };
    block.suppressed_count += 1;
    tx.put(&BLOCKS, &(blocker.0, blocker.1, blocked), &BlockRow::of(block))
}

fn change_blockers(
    tx: &mut WriteTx<'_>,
    blocked: AgentKey,
    change: impl FnOnce(&mut Vec<(AgentNo, Option<Timestamp>)>),
) -> Result<(), Failure> {
    let mut all = tx.get(&BLOCKERS, &blocked)?.map_or_else(Vec::new, |BlockersRow(all)| all);
    change(&mut all);
    if all.is_empty() {
        tx.delete(&BLOCKERS, &blocked);
        return Ok(());
    }
    tx.put(&BLOCKERS, &blocked, &BlockersRow(all))
}
