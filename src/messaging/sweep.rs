//! What falls due by the clock is done, each piece in a savepoint of its own: what cannot be done is told of and tried again
//! in an hour, and keeps nothing else from being done.

use std::fmt::Debug;

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Failure, Read, Snapshot, Timestamp, WriteTx};

use crate::agents::idle;
use crate::context::Context;
use crate::due::{self, Due};
use crate::identity::{Status, workspaces};
use crate::mail::deliver::release_due;
use crate::mail::resume::resume_due;
use crate::model::WorkspaceNo;
use crate::{acks, approvals, invites, keys, reminders, rooms, sending, signup, usage};

/// So much is done in one transaction.
const SLICE: usize = 64;
/// A transaction that has written so many bytes takes on nothing more.
const BYTES_MAX: usize = 1 << 20;
/// When what is damaged, or too large, is tried again, in seconds.
const PUT_OFF_SECONDS: i64 = 3_600;

/// What falls due of messaging.
pub(crate) struct DueOfMessaging {
    context: Context,
}

impl DueOfMessaging {
    pub(crate) fn new(context: Context) -> DueOfMessaging {
        DueOfMessaging { context }
    }
}

impl Agenda for DueOfMessaging {
    /// What is due may be put at the present instant, before what was looked at: no place is ever left behind.
    type Place = ();

    const NAME: &'static str = "messaging.due";
    const TAG: u16 = due::AGENDA;
    const IS_FREEING: bool = false;
    const FIRST: () = ();

    fn next(&self, read: &Snapshot, (): ()) -> Result<Option<Timestamp>, Failure> {
        Ok(due::first(read, (Timestamp::EPOCH, Due::FIRST), 1)?.first().map(|(at, _)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, (): ()) -> Result<Swept<()>, Failure> {
        let first = due::first(tx, (Timestamp::EPOCH, Due::FIRST), SLICE)?;
        let mut progress = Progress::Rest;
        for (at, due) in first.into_iter().take_while(|(at, _)| *at <= now) {
            progress = Progress::More;
            // What was done before may have seen to it.
            if !due::is_put(tx, at, due)? {
                continue;
            }
            due::clear(tx, at, due);
            if !apart(tx, &due, |tx| fall_due(tx, now, due, &self.context))? {
                due::put(tx, now.plus_seconds(PUT_OFF_SECONDS), due)?;
            }
            if tx.written_bytes() >= BYTES_MAX {
                break;
            }
        }
        Ok(Swept { to: None, progress })
    }
}

/// Does what belongs to one alone. `false`, and nothing of it is done, if it is damaged, or too large for the log: it must
/// not keep all others from their turn.
fn apart(
    tx: &mut WriteTx<'_>,
    what: &impl Debug,
    part: impl FnOnce(&mut WriteTx<'_>) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    match tx.savepoint(|tx| part(tx).and_then(|()| tx.check_size())) {
        Ok(()) => Ok(true),
        Err(failure @ (Failure::Damaged(_) | Failure::TooLarge)) => {
            tracing::error!(?what, %failure, "what is due cannot be done; it is tried again in an hour");
            Ok(false)
        }
        Err(failure) => Err(failure),
    }
}

/// Each kind by the verb that knows it.
fn fall_due(tx: &mut WriteTx<'_>, now: Timestamp, due: Due, context: &Context) -> Result<(), Failure> {
    match due {
        Due::Release(agent) => release_due(tx, now, agent).map(drop),
        Due::Resume(thread) => resume_due(tx, now, thread),
        Due::Usage((workspace, day)) => {
            usage::forget(tx, workspace, day);
            Ok(())
        }
        Due::Idle(agent) => {
            // One that is there is not idle, whatever is stored of it.
            let seen_at = context.attendance.seen_at(tx, agent, now)?;
            idle::look(tx, now, agent, seen_at)
        }
        Due::Invite(place) => {
            invites::expire(tx, place)?;
            Ok(())
        }
        Due::KeyUrl(place) => keys::expire_address(tx, now, place),
        Due::Remind(reminder) => reminders::fall_due(tx, now, context, reminder),
        Due::Nag(owed) => sending::nag(tx, now, owed),
        Due::SignUp(place) => signup::expire(tx, place),
        Due::Approval(approval) => approvals::fall_due(tx, now, approval),
        Due::Parked(workspace) => put_back(tx, now, workspace),
        Due::Rooms(agent) => rooms::go_on(tx, now, agent),
    }
}

/// What a workspace has parked falls due where it did, some of it at a time, if the workspace is not suspended any more.
fn put_back(tx: &mut WriteTx<'_>, now: Timestamp, no: WorkspaceNo) -> Result<(), Failure> {
    let Some(workspace) = workspaces::find(tx, no)? else { return Ok(()) };
    if workspaces::status(tx, &workspace)? == Status::Suspended {
        return due::watch(tx, now, no);
    }
    for (at, due) in due::parked(tx, no, SLICE)? {
        let is_right = falls_due_at(tx, due)? == Some(at);
        due::put_back(tx, no, (at, due), is_right)?;
    }
    due::wake_parked(tx, now, no)
}

/// When something that can be parked says that it is due.
fn falls_due_at(read: &impl Read, due: Due) -> Result<Option<Timestamp>, Failure> {
    match due {
        Due::Nag((no, debtor, message)) => Ok(acks::find(read, (no, debtor), message)?.map(|owed| owed.looked_at)),
        Due::Remind(key) => reminders::falls_due_at(read, key),
        Due::Approval(key) => approvals::falls_due_at(read, key),
        _ => Ok(None),
    }
}
