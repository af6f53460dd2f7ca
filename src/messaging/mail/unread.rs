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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quintet_storage::WriteTx;

    use super::*;
    use crate::identity::{Priority, mailboxes};
    use crate::mail::deliver::{Parcel, deliver, read};
    use crate::mail::model::Role;
    use crate::model::{MessageId, ThreadId};
    use crate::testing::Bench;

    /// What is held against a set of places.
    fn compare(tx: &WriteTx<'_>, agent: AgentKey, unread: &BTreeSet<u64>, random: &mut fastrand::Rng) {
        let mailbox = mailboxes::get(tx, agent).unwrap();
        assert_eq!(mailbox.unread_count, unread.len() as u64);
        assert_eq!(first_unread(tx, agent, &mailbox).unwrap(), unread.first().copied());
        for _ in 0..3 {
            let (after, most) = (random.u64(0..mailbox.last_seq + 3), random.usize(0..9));
            let expected: Vec<u64> = unread.range(after + 1..).take(most).copied().collect();
            assert_eq!(unread_after(tx, agent, &mailbox, after, most).unwrap(), expected, "{after} {most} {unread:?}");
        }
    }

    fn parcel(message: MessageId) -> Parcel {
        let thread = ThreadId(message.0);
        Parcel { message, thread, role: Role::To, priority: Priority::Normal, is_late: false }
    }

    #[test]
    fn stretches_say_what_a_set_would() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let bench = Bench::new();
        let mut random = fastrand::Rng::with_seed(seed);
        for number in 0..40 {
            let agent = bench.agent(&format!("a{number}"));
            let mut random = random.fork();
            let outcome = bench.run(move |tx, now| {
                let (mut unread, mut last) = (BTreeSet::new(), 0);
                for _ in 0..120 {
                    if last == 0 || random.u8(0..5) < 2 {
                        let message = MessageId(tx.new_id());
                        deliver(tx, now, agent, parcel(message))?;
                        last += 1;
                        unread.insert(last);
                    } else {
                        // Often the first, as is usual; sometimes one that is read already.
                        let place = match unread.first() {
                            Some(first) if random.bool() => *first,
                            _ => random.u64(1..=last),
                        };
                        read(tx, now, agent, place)?;
                        unread.remove(&place);
                    }
                    compare(tx, agent, &unread, &mut random);
                }
                Ok(())
            });
            outcome.unwrap();
        }
    }

    #[test]
    fn what_is_read_in_order_leaves_no_rows() {
        let bench = Bench::new();
        let agent = bench.agent("ann");
        let rows = bench.run(move |tx, now| {
            for _ in 0..50 {
                let message = MessageId(tx.new_id());
                deliver(tx, now, agent, parcel(message))?;
            }
            for place in 1..=50 {
                read(tx, now, agent, place)?;
            }
            Ok(tx.scan(&UNREAD, Scan::prefix(&(agent.0, agent.1)))?.len())
        });
        assert_eq!(rows.unwrap(), 0);
    }
}
