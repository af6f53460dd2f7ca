//! Which places of an inbox are unread: everything from the mailbox's `unread_from` on, and stretches before that with a row
//! each. So what comes in writes nothing here, and what is read in order little.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::tables::{UNREAD, UnreadRow};
use crate::identity::Mailbox;
use crate::model::AgentKey;

/// Notes that a place is read. The caller keeps the mailbox.
pub(super) fn mark_read(
    tx: &mut WriteTx<'_>,
    agent: AgentKey,
    mailbox: &mut Mailbox,
    place: u64,
) -> Result<(), Failure> {
    let row = |first: u64| (agent.0, agent.1, first);
    if place >= mailbox.unread_from {
        if place > mailbox.unread_from {
            tx.put(&UNREAD, &row(mailbox.unread_from), &UnreadRow(place - 1))?;
        }
        mailbox.unread_from = place + 1;
        mailbox.unread_count = mailbox.unread_count.saturating_sub(1);
        return Ok(());
    }
    let scan = Scan::prefix(&(agent.0, agent.1)).newest_first().until(&row(place + 1)).limit(1);
    let Some(((_, _, first), UnreadRow(last))) = tx.scan(&UNREAD, scan)?.into_iter().next() else { return Ok(()) };
    if last < place {
        return Ok(());
    }
    if first == place {
        tx.delete(&UNREAD, &row(first));
    } else {
        tx.put(&UNREAD, &row(first), &UnreadRow(place - 1))?;
    }
    if place < last {
        tx.put(&UNREAD, &row(place + 1), &UnreadRow(last))?;
    }
    mailbox.unread_count = mailbox.unread_count.saturating_sub(1);
    Ok(())
}

/// The unread places behind one, the lowest first, `most` at the most.
pub(crate) fn unread_after(
    read: &impl Read,
    agent: AgentKey,
    mailbox: &Mailbox,
    after: u64,
    most: usize,
) -> Result<Vec<u64>, Failure> {
    let row = |first: u64| (agent.0, agent.1, first);
    let mut places = Vec::new();
    // The stretch that begins at the place or before it may go on behind it.
    let before = Scan::prefix(&(agent.0, agent.1)).newest_first().until(&row(after.saturating_add(1))).limit(1);
    let behind = Scan::prefix(&(agent.0, agent.1)).after(&row(after)).limit(most);
    let stretches = read.scan(&UNREAD, before)?.into_iter().chain(read.scan(&UNREAD, behind)?);
    let tail = (mailbox.unread_from, mailbox.last_seq);
    for (first, last) in stretches.map(|((_, _, first), UnreadRow(last))| (first, last)).chain([tail]) {
        let room = most - places.len();
        places.extend((first.max(after.saturating_add(1))..=last).take(room));
    }
    Ok(places)
}

/// The first unread place.
pub(crate) fn first_unread(read: &impl Read, agent: AgentKey, mailbox: &Mailbox) -> Result<Option<u64>, Failure> {
    Ok(unread_after(read, agent, mailbox, 0, 1)?.first().copied())
}
