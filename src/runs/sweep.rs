//! What falls due by the clock is done: each kind by the verb that knows it.
//!
//! What has been kept long enough goes at once with everything that belongs to it: the run, what it was to run, its
//! result, its logs and samples, its events. A transaction takes so much and no more, however much is due.

use std::collections::HashMap;
use std::fmt::Debug;

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Failure, Read, Snapshot, Timestamp, WriteTx};

use crate::containers::changes::is_long;
use crate::containers::removal::{EVENTS_AT_ONCE, remove_events, remove_old};
use crate::containers::{hours, late};
use crate::due::{self, Due, Fire};
use crate::model::TenantId;
use crate::{schedules, templates, timers, workflows};

/// What is looked at in one transaction.
const SLICE: usize = 100;
/// What is begun in one transaction. Each can have a payload of 16 KiB, and a schedule tells of three instants at most.
const FIRES_SLICE: usize = 50;
/// How many of these each tenant has before others get more; how many rows are looked through for them, and how often.
const FIRES_SHARE: usize = 2;
const FIRES_PAGE: usize = 256;
const FIRES_PAGES: usize = 8;
/// When what is damaged, or too large, is tried again.
const DAMAGED_PAUSE_MICROS: i64 = 3_600_000_000;
/// Events removed in one transaction, after which the rest is left to the next one.
const EVENTS_MAX: usize = 2_000;

/// Does what is due, at most a slice of it; how much it saw to.
pub(crate) fn sweep(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<usize, Failure> {
    let mut due = due::first(tx, SLICE)?;
    due.retain(|(at, _)| *at <= now);
    let mut events = 0;
    for (at, due) in &due {
        if events >= EVENTS_MAX || is_long(tx) {
            return Ok(SLICE);
        }
        match *due {
            // The dispatcher is woken by this transaction.
            Due::Eligible(_) => due::clear(tx, *at, *due),
            Due::TooLate(run_key) => {
                due::clear(tx, *at, *due);
                let ended = apart(tx, &due, |tx| {
                    late::too_late(tx, now, run_key)?;
                    workflows::run_was_too_late(tx, now, run_key)
                })?;
                if !ended {
                    due::put(tx, now.plus_micros(DAMAGED_PAUSE_MICROS), *due)?;
                }
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
            Due::OldWorkflow(workflow_key) => {
                due::clear(tx, *at, *due);
                events += workflows::remove_old(tx, now, workflow_key)?;
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

/// Does what belongs to one alone. False, and nothing of it is done, if it is damaged, or too large for the log: it must
/// not keep all others from their turn, and is tried again later.
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

/// Begins what is due of what begins by itself, from an instant on, at most a slice of it; how much that was, and from which
/// instant on there may be more.
pub(crate) fn begin(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    from: Timestamp,
) -> Result<(usize, Swept<Timestamp>), Failure> {
    let Chosen { first, fires, progress } = chosen(tx, now, from)?;
    // Before the first one nothing is due any more: what is gone there is not stepped over again.
    let more = Swept { to: first, progress: Progress::More };
    let (triggers, others): (Vec<_>, Vec<_>) =
        fires.into_iter().partition(|(_, fire)| matches!(fire, Fire::Trigger(_)));
    for (number, (at, fire)) in others.iter().copied().enumerate() {
        if is_long(tx) {
            return Ok((number, more));
        }
        begin_one(tx, now, at, fire)?;
    }
    // A definition of 256 KiB with its patterns takes its time: everybody else has their turn behind each.
    match whose_turn(tx, &triggers) {
        Some(_) if is_long(tx) => Ok((others.len(), more)),
        Some((at, fire)) => {
            begin_one(tx, now, at, fire)?;
            Ok((others.len() + 1, more))
        }
        None if progress == Progress::Rest => Ok((others.len(), Swept { to: Some(now), progress })),
        None => Ok((others.len(), more)),
    }
}

/// The one trigger that begins in this transaction: that of any tenant, for whoever has very many due would be the first again
/// and again.
fn whose_turn(tx: &mut WriteTx<'_>, triggers: &[(Timestamp, Fire)]) -> Option<(Timestamp, Fire)> {
    let mut firsts: Vec<(Timestamp, Fire)> = Vec::new();
    for (at, fire) in triggers {
        if !firsts.iter().any(|(_, first)| first.tenant_id() == fire.tenant_id()) {
            firsts.push((*at, *fire));
        }
    }
    if firsts.len() < 2 {
        return firsts.first().copied();
    }
    // The low bits of an identifier are drawn at random.
    let drawn = tx.new_id().as_u128() % u128::try_from(firsts.len()).unwrap_or(1);
    firsts.get(usize::try_from(drawn).unwrap_or(0)).copied()
}

/// Begins one that is due; not if one before it was of the same workflow, and has seen to all of it.
fn begin_one(tx: &mut WriteTx<'_>, now: Timestamp, at: Timestamp, fire: Fire) -> Result<(), Failure> {
    if !due::is_fire_put(tx, at, fire)? {
        return Ok(());
    }
    due::clear_fire(tx, at, fire);
    let has_begun = apart(tx, &fire, |tx| match fire {
        Fire::Timer(timer_key) => timers::fire::fire(tx, now, timer_key),
        Fire::Schedule(schedule_key) => schedules::fire::fire(tx, now, schedule_key),
        Fire::WorkflowStart(workflow_key) => workflows::go_on(tx, now, workflow_key),
        Fire::NodeRetry((tenant_id, workflow_id, _)) => workflows::go_on(tx, now, (tenant_id, workflow_id)),
        Fire::GateExpiry(node_key) => workflows::expire(tx, now, node_key),
        Fire::WorkflowGoesOn(workflow_key) => workflows::go_on(tx, now, workflow_key),
        Fire::Trigger(trigger_key) => templates::fire(tx, now, trigger_key),
    })?;
    if !has_begun {
        due::put_fire(tx, now.plus_micros(DAMAGED_PAUSE_MICROS), fire)?;
    }
    Ok(())
}

/// What is begun in the next transaction.
struct Chosen {
    /// The instant of the first that is due.
    first: Option<Timestamp>,
    fires: Vec<(Timestamp, Fire)>,
    progress: Progress,
}

/// What is begun in the next transaction: a few of each tenant first, then what is left of the oldest. One with ten
/// thousand timers at an instant keeps nobody waiting.
fn chosen(read: &impl Read, now: Timestamp, from: Timestamp) -> Result<Chosen, Failure> {
    let (mut fires, mut passed, mut first) = (Vec::new(), Vec::new(), None);
    let mut shares: HashMap<TenantId, usize> = HashMap::new();
    let mut progress = Progress::More;
    let mut behind = (from, Fire::FIRST);
    'pages: for _ in 0..FIRES_PAGES {
        let page = due::first_fires(read, behind, FIRES_PAGE)?;
        for (at, fire) in &page {
            if *at > now {
                progress = Progress::Rest;
                break 'pages;
            }
            first.get_or_insert(*at);
            let share = shares.entry(fire.tenant_id()).or_default();
            *share += 1;
            if *share <= FIRES_SHARE {
                fires.push((*at, *fire));
            } else if passed.len() < FIRES_SLICE {
                passed.push((*at, *fire));
            }
            if fires.len() == FIRES_SLICE {
                break 'pages;
            }
        }
        let Some((at, fire)) = page.last().filter(|_| page.len() == FIRES_PAGE) else {
            progress = Progress::Rest;
            break;
        };
        // A page full of the same is not followed by another one.
        let is_crowd =
            page.first().is_some_and(|first| first.0 == *at && first.1.last_of_tenant() == fire.last_of_tenant());
        behind = (*at, if is_crowd { fire.last_of_tenant() } else { *fire });
    }
    let seen: usize = shares.values().sum();
    passed.truncate(FIRES_SLICE - fires.len());
    fires.append(&mut passed);
    Ok(Chosen { first, fires, progress: if seen > FIRES_SLICE { Progress::More } else { progress } })
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
        Ok(due::first_fires(read, (from, Fire::FIRST), 1)?.first().map(|(at, _)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Timestamp) -> Result<Swept<Timestamp>, Failure> {
        Ok(begin(tx, now, from)?.1)
    }
}
