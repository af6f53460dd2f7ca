//! What falls due by the clock is done, each piece in a savepoint of its own: what cannot be done is left due and told of,
//! and keeps nothing else from being done.

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Failure, Snapshot, Timestamp, WriteTx};

use crate::agents::idle;
use crate::due::{self, Due};
use crate::mail::deliver::release_due;
use crate::mail::resume::resume_due;
use crate::usage;

/// So much is done in one transaction.
const SLICE: usize = 64;

/// What falls due of messaging.
pub(crate) struct DueOfMessaging;

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
            due::clear(tx, at, due);
            fall_due(tx, now, due)?;
        }
        Ok(Swept { to: None, progress })
    }
}

fn fall_due(tx: &mut WriteTx<'_>, now: Timestamp, due: Due) -> Result<(), Failure> {
    match due {
        Due::Release(agent) => release_due(tx, now, agent).map(drop),
        Due::Resume(thread) => resume_due(tx, now, thread),
        Due::Usage((workspace, day)) => {
            usage::forget(tx, workspace, day);
            Ok(())
        }
        Due::Idle(agent) => idle::look(tx, now, agent, None),
        Due::Nag(_) | Due::Remind(_) | Due::Invite(_) | Due::KeyUrl(_) => Ok(()),
    }
}
