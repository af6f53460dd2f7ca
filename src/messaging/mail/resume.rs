//! A paused thread goes on: by a participant, an operator, or the clock (6-messaging.md, G2, G3).

use std::collections::BTreeMap;

use quintet_storage::{Failure, Read as _, Scan, Timestamp, WriteTx};

use super::deliver::{Became, Parcel, deliver};
use super::model::Thread;
use super::tables::{THREAD_HELD, ThreadHeldRow};
use super::threads;
use super::told::{Came, came};
use crate::due::{self, Due};
use crate::identity::mailboxes;
use crate::model::{AgentNo, ThreadKey};
use crate::outbox;

/// So much is delivered in one transaction.
const DELIVERED_MAX: usize = 1_000;

/// Who has a thread go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumer {
    /// An agent that takes part.
    Participant,
    /// Somebody with the operator's key, or the command line.
    Operator,
    /// The count was low enough for long enough.
    Clock,
}

/// Has a paused thread go on, in order. `false`: it was not paused.
pub(crate) fn resume(tx: &mut WriteTx<'_>, now: Timestamp, key: ThreadKey, resumer: Resumer) -> Result<bool, Failure> {
    let Some(mut thread) = threads::find(tx, key)? else { return Ok(false) };
    let Some(pause) = thread.pause.take() else { return Ok(false) };
    due::clear(tx, pause.resumes_at, Due::Resume(key));
    if resumer != Resumer::Clock {
        thread.counted.clear();
    }
    if resumer == Resumer::Participant {
        thread.resumed_at = Some(now);
    }
    deliver_held(tx, now, key, &mut thread)?;
    threads::put(tx, key, &thread)?;
    Ok(true)
}

/// What falls due of a thread: its pause is over, or deliveries go on that were too many for one transaction.
pub(crate) fn resume_due(tx: &mut WriteTx<'_>, now: Timestamp, key: ThreadKey) -> Result<(), Failure> {
    let Some(mut thread) = threads::find(tx, key)? else { return Ok(()) };
    match thread.pause {
        Some(pause) if pause.resumes_at > now => Ok(()),
        Some(_) => resume(tx, now, key, Resumer::Clock).map(drop),
        None => {
            deliver_held(tx, now, key, &mut thread)?;
            threads::put(tx, key, &thread)
        }
    }
}

/// Delivers what the thread holds, the oldest first, and has leave what is for outside. The caller keeps the thread.
fn deliver_held(tx: &mut WriteTx<'_>, now: Timestamp, key: ThreadKey, thread: &mut Thread) -> Result<(), Failure> {
    let rows = tx.scan(&THREAD_HELD, Scan::prefix(&(key.0, key.1)).limit(DELIVERED_MAX + 1))?;
    let is_more_outside = outbox::release(tx, now, key)?;
    if rows.len() > DELIVERED_MAX || is_more_outside {
        due::put(tx, now, Due::Resume(key))?;
    }
    let mut arrived: BTreeMap<AgentNo, Came> = BTreeMap::new();
    for (row_key, ThreadHeldRow { agent, message, role, priority }) in rows.into_iter().take(DELIVERED_MAX) {
        tx.delete(&THREAD_HELD, &row_key);
        thread.held_count = thread.held_count.saturating_sub(1);
        let parcel = Parcel { message, thread: key.1, role, priority, is_late: true };
        if deliver(tx, now, (key.0, agent), parcel)? == Became::Delivered {
            let seq = mailboxes::get(tx, (key.0, agent))?.last_seq;
            let released = arrived.get(&agent).map_or(0, |came| came.released) + 1;
            arrived.insert(agent, Came { message, seq, released });
        }
    }
    // All that comes at once is one event (6-messaging.md, A3).
    for (agent, last) in arrived {
        let mailbox = mailboxes::get(tx, (key.0, agent))?;
        came(tx, now, (key.0, agent), &mailbox, last)?;
    }
    Ok(())
}
