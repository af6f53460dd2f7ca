//! What falls due by the clock is done: each kind by the verb that knows it.
//!
//! What has been kept long enough goes at once with everything that belongs to it: the run, what it was to run, its
//! result, its logs and samples, its events. A transaction takes so much and no more, however much is due.

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Failure, Snapshot, Timestamp, WriteTx};

use crate::containers::removal::{EVENTS_AT_ONCE, remove_events, remove_old};
use crate::containers::{hours, late};
use crate::due::{self, Due, Fire};
use crate::{schedules, timers};

/// What is looked at in one transaction.
const SLICE: usize = 100;
/// What is begun in one transaction. Each can have a payload of 16 KiB, and a schedule tells of three instants at most.
const FIRES_SLICE: usize = 50;
/// Events removed in one transaction, after which the rest is left to the next one.
const EVENTS_MAX: usize = 2_000;

/// Does what is due, at most a slice of it; how much it saw to.
pub(crate) fn sweep(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Failure> {
    let mut due = due::first(tx, SLICE)?;
    due.retain(|(at, _)| *at <= now);
    let mut events = 0;
    for (at, due) in &due {
        if events >= EVENTS_MAX {
            return Ok(SLICE);
        }
        match *due {
            // The dispatcher is woken by this transaction.
            Due::Eligible(_) => due::clear(tx, *at, *due),
            Due::TooLate(run_key) => {
                due::clear(tx, *at, *due);
                late::too_late(tx, now, run_key)?;
            }
            Due::Old(run_key) => {
                due::clear(tx, *at, *due);
                events += remove_old(tx, now, run_key)?;
            }
            Due::Events(run_key) => {
                let gone = remove_events(tx, run_key)?;
                events += gone;
                if gone < EVENTS_AT_ONCE {
                    due::clear(tx, *at, *due);
                }
            }
            Due::OldTimer(timer_key) => {
                due::clear(tx, *at, *due);
                timers::old::remove_old(tx, timer_key)?;
            }
            Due::Hours(tenant_id) => {
                // A slice of its own.
                hours::decide_anew(tx, now, tenant_id)?;
                return Ok(SLICE);
            }
        }
    }
    // What was too much for this transaction is due at once.
    Ok(if events >= EVENTS_AT_ONCE { SLICE } else { due.len() })
}

/// What ends or goes of all tenants.
pub(crate) struct DueOfRuns;

impl Agenda for DueOfRuns {
    /// There is none before which nothing will fall due: a run can be submitted whose `expires_at` is long over.
    type Place = ();

    const NAME: &'static str = "runs.due";
    const TAG: u16 = due::AGENDA;
    const IS_FREEING: bool = true;
    const FIRST: () = ();

    fn next(&self, read: &Snapshot, _from: ()) -> Result<Option<Timestamp>, Failure> {
        Ok(due::first(read, 1)?.first().map(|(at, _)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, _from: ()) -> Result<Swept<()>, Failure> {
        let progress = if sweep(tx, now)? < SLICE { Progress::Rest } else { Progress::More };
        Ok(Swept { to: None, progress })
    }
}

/// Begins what is due of what begins by itself, from an instant on, at most a slice of it; how much that was.
pub(crate) fn begin(tx: &mut WriteTx<'_>, now: Timestamp, from: Timestamp) -> Result<usize, Failure> {
    let mut fires = due::first_fires(tx, from, FIRES_SLICE)?;
    fires.retain(|(at, _)| *at <= now);
    for (at, fire) in &fires {
        due::clear_fire(tx, *at, *fire);
        match *fire {
            Fire::Timer(timer_key) => timers::fire::fire(tx, now, timer_key)?,
            Fire::Schedule(schedule_key) => schedules::fire::fire(tx, now, schedule_key)?,
        }
    }
    Ok(fires.len())
}

/// What begins by itself, of all tenants. While the disk is down to its reserve it waits: what could be begun could not be
/// told.
pub(crate) struct FiresOfRuns;

impl Agenda for FiresOfRuns {
    /// Whatever is put there later begins at the present instant or behind it, and that only grows.
    type Place = Timestamp;

    const NAME: &'static str = "runs.fires";
    const TAG: u16 = due::FIRES_AGENDA;
    const IS_FREEING: bool = false;
    const FIRST: Timestamp = Timestamp::EPOCH;

    fn next(&self, read: &Snapshot, from: Timestamp) -> Result<Option<Timestamp>, Failure> {
        Ok(due::first_fires(read, from, 1)?.first().map(|(at, _)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Timestamp) -> Result<Swept<Timestamp>, Failure> {
        if begin(tx, now, from)? == FIRES_SLICE {
            return Ok(Swept { to: None, progress: Progress::More });
        }
        Ok(Swept { to: Some(now), progress: Progress::Rest })
    }
}
