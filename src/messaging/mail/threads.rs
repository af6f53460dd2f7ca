//! Threads: finding them, who takes part, and keeping what changes.

use quintet_storage::{Failure, Read, WriteTx};

use super::model::Thread;
use super::tables::{PARTICIPANTS, ParticipantsRow, THREADS, ThreadRow};
use crate::model::{AgentNo, ThreadKey};

/// A thread.
pub(crate) fn find(read: &impl Read, key: ThreadKey) -> Result<Option<Thread>, Failure> {
    Ok(read.get(&THREADS, &key)?.map(ThreadRow::into_thread))
}

/// Keeps a thread.
pub(super) fn put(tx: &mut WriteTx<'_>, key: ThreadKey, thread: &Thread) -> Result<(), Failure> {
    tx.put(&THREADS, &key, &ThreadRow::of(thread))
}

/// The agents that take part in a thread, by their numbers.
pub(crate) fn participants(read: &impl Read, key: ThreadKey) -> Result<Vec<AgentNo>, Failure> {
    Ok(read.get(&PARTICIPANTS, &key)?.map_or_else(Vec::new, |ParticipantsRow(all)| all))
}

/// Whether an agent takes part in a thread.
pub(crate) fn takes_part(read: &impl Read, key: ThreadKey, agent: AgentNo) -> Result<bool, Failure> {
    Ok(participants(read, key)?.binary_search(&agent).is_ok())
}

/// These take part in a new thread.
pub(super) fn begin(
    tx: &mut WriteTx<'_>,
    key: ThreadKey,
    all: impl IntoIterator<Item = AgentNo>,
) -> Result<(), Failure> {
    let mut all: Vec<AgentNo> = all.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    tx.put(&PARTICIPANTS, &key, &ParticipantsRow(all))
}

/// These take part from now on.
pub(super) fn join(
    tx: &mut WriteTx<'_>,
    key: ThreadKey,
    more: impl IntoIterator<Item = AgentNo>,
) -> Result<(), Failure> {
    let mut all = participants(tx, key)?;
    let before = all.len();
    for agent in more {
        if let Err(place) = all.binary_search(&agent) {
            all.insert(place, agent);
        }
    }
    if all.len() > before { tx.put(&PARTICIPANTS, &key, &ParticipantsRow(all)) } else { Ok(()) }
}
