//! The entries of an agent's memory (6-messaging.md, D2).

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::tables::{CountsRow, EntryRow, MEMORY, MEMORY_COUNTS};
use crate::identity::Workspace;
use crate::limits::{MEMORY_BYTES, MEMORY_ENTRIES};
use crate::model::AgentKey;
use crate::refusal::Refusal;

/// The most bytes of one entry.
pub(super) const ENTRY_BYTES_MAX: usize = 16_384;

/// How much an agent remembers, and how much it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) bytes_used: u64,
    pub(super) bytes_limit: u64,
    pub(super) entries: u64,
    pub(super) entries_limit: u64,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) text: String,
    pub(super) is_sealed: bool,
    pub(super) created_at: Timestamp,
}

/// What an agent wants to remember.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) text: String,
    pub(super) is_sealed: bool,
}

/// How much there is.
pub(super) fn stat(read: &impl Read, workspace: &Workspace, agent: AgentKey) -> Result<Stat, Failure> {
    let counts = counts(read, agent)?;
    Ok(Stat {
        bytes_used: counts.bytes,
        bytes_limit: workspace.limit(MEMORY_BYTES),
        entries: counts.entries,
        entries_limit: workspace.limit(MEMORY_ENTRIES),
    })
}

fn counts(read: &impl Read, agent: AgentKey) -> Result<CountsRow, Failure> {
    Ok(read.get(&MEMORY_COUNTS, &agent)?.unwrap_or_default())
}

/// All entries, the oldest first.
pub(super) fn list(read: &impl Read, workspace: &Workspace, agent: AgentKey) -> Result<Vec<Entry>, Failure> {
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    let rows = read.scan(&MEMORY, Scan::prefix(&(agent.0, agent.1)))?;
    let opened = rows.into_iter().map(|(key, EntryRow { text, is_sealed, created_at, .. })| {
        let text = match seal::open(read, owner, &MEMORY, &key, &text) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // Of an erased tenant's nothing can be read any more.
            Err(Abort::Refused(Erased)) => String::new(),
            Err(Abort::Failed(failure)) => return Err(failure),
        };
        Ok(Entry { seq: key.2, text, is_sealed, created_at })
    });
    opened.collect()
}

/// Adds an entry; its number.
///
/// # Errors
/// There is no room for it.
pub(super) fn add(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    agent: AgentKey,
    noted: &Noted,
) -> Result<u64, Abort<Refusal>> {
    let mut counts = counts(tx, agent)?;
    counts.entries += 1;
    counts.bytes = counts.bytes.saturating_add(noted.text.len() as u64);
    check_room(tx, workspace, agent, &counts)?;
    counts.last_seq += 1;
    put(tx, workspace, (agent, counts.last_seq), noted, now)?;
    tx.put(&MEMORY_COUNTS, &agent, &counts)?;
    Ok(counts.last_seq)
}

/// Replaces an entry's text. `false`: there is no such entry.
///
/// # Errors
/// There is no room for it.
pub(super) fn replace(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    (agent, seq): (AgentKey, u64),
    noted: &Noted,
) -> Result<bool, Abort<Refusal>> {
    let Some(before) = tx.get(&MEMORY, &(agent.0, agent.1, seq))? else { return Ok(false) };
    let mut counts = counts(tx, agent)?;
    let more = noted.text.len() as u64;
    counts.bytes = counts.bytes.saturating_sub(before.bytes).saturating_add(more);
    if more > before.bytes {
        check_room(tx, workspace, agent, &counts)?;
    }
    put(tx, workspace, (agent, seq), noted, before.created_at)?;
    tx.put(&MEMORY_COUNTS, &agent, &counts)?;
    Ok(true)
}

/// Removes an entry. `false`: there is no such entry.
pub(super) fn remove(tx: &mut WriteTx<'_>, agent: AgentKey, seq: u64) -> Result<bool, Failure> {
    let key = (agent.0, agent.1, seq);
    let Some(before) = tx.get(&MEMORY, &key)? else { return Ok(false) };
    let mut counts = counts(tx, agent)?;
    counts.entries = counts.entries.saturating_sub(1);
    counts.bytes = counts.bytes.saturating_sub(before.bytes);
    tx.delete(&MEMORY, &key);
    tx.put(&MEMORY_COUNTS, &agent, &counts)?;
    Ok(true)
}

/// The numbers of the oldest entries, so many at the most.
pub(super) fn first(read: &impl Read, agent: AgentKey, most: usize) -> Result<Vec<u64>, Failure> {
    let rows = read.scan(&MEMORY, Scan::prefix(&(agent.0, agent.1)).limit(most))?;
    Ok(rows.into_iter().map(|((_, _, seq), _)| seq).collect())
}

fn check_room(
    read: &impl Read,
    workspace: &Workspace,
    agent: AgentKey,
    counts: &CountsRow,
) -> Result<(), Abort<Refusal>> {
    if counts.entries > workspace.limit(MEMORY_ENTRIES) || counts.bytes > workspace.limit(MEMORY_BYTES) {
        return Err(Refusal::MemoryFull(first(read, agent, 1)?.first().copied()).into());
    }
    Ok(())
}

fn put(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    (agent, seq): (AgentKey, u64),
    noted: &Noted,
    created_at: Timestamp,
) -> Result<(), Failure> {
    let key = (agent.0, agent.1, seq);
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    let text = seal::seal(tx, owner, &MEMORY, &key, noted.text.as_bytes()).map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        // Who still has a key of an erased tenant is turned away before this.
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    })?;
    let row = EntryRow { text, bytes: noted.text.len() as u64, is_sealed: noted.is_sealed, created_at };
    tx.put(&MEMORY, &key, &row)
}
