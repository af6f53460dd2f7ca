//! From the slot to the end: what the engine and the controls make of a run.
//!
//! Each verb names the container it speaks of by its number. What is told of an earlier container, or comes after the
//! end, changes nothing.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::changes::{change, find};
use super::end::End;
use super::model::Run;
use super::results;
use super::tables::{BUSY, CONTAINERS, ContainerRow, WAITING};
use crate::context::NodeEnds;
use crate::model::{RunId, RunKey};
use crate::refusal::Refusal;
use crate::states::{Actor, RunState, transition};

/// Begins to see to a run that has its slot: its container gets a number that no other has had. None if it is not
/// queued any more.
pub(super) fn pulling(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<Option<Run>, Failure> {
    let Some(before) = find(tx, run_key)?.filter(|run| run.state == RunState::Queued) else { return Ok(None) };
    let run = Run { state: RunState::Pulling, pulling_at: Some(now), starts: before.starts + 1, ..before.clone() };
    tx.put(&CONTAINERS, &run_key.1, &ContainerRow { tenant_id: run_key.0, number: run.starts })?;
    change(tx, now, Actor::Engine, run_key, Some(&before), run).map(Some)
}

/// The run whose container may exist, and the container's number; none if there never was one, or it is gone.
pub(super) fn container(read: &impl Read, run_id: RunId) -> Result<Option<(RunKey, u32)>, Failure> {
    Ok(read.get(&CONTAINERS, &run_id)?.map(|row| ((row.tenant_id, run_id), row.number)))
}

/// All of them.
pub(super) fn containers(read: &impl Read) -> Result<Vec<(RunKey, u32)>, Failure> {
    let rows = read.scan(&CONTAINERS, Scan::all())?;
    Ok(rows.into_iter().map(|(run_id, row)| ((row.tenant_id, run_id), row.number)).collect())
}

/// The runs that hold a slot.
pub(super) fn with_slots(read: &impl Read) -> Result<Vec<RunKey>, Failure> {
    let rows = read.scan(&BUSY, Scan::all())?;
    Ok(rows.into_iter().map(|(run_id, row)| (row.tenant_id, run_id)).collect())
}

/// The runs that wait for one.
pub(super) fn waiting(read: &impl Read) -> Result<Vec<RunKey>, Failure> {
    let rows = read.scan(&WAITING, Scan::all())?;
    Ok(rows.into_iter().map(|((tenant_id, _, _, run_id), _)| (tenant_id, run_id)).collect())
}

/// The container of this number runs.
pub(super) fn started(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    container: u32,
    at: Timestamp,
    image_digest: &str,
) -> Result<(), Failure> {
    let Some(before) = find(tx, run_key)? else { return Ok(()) };
    if before.state != RunState::Pulling || before.starts != container {
        return Ok(());
    }
    run_on(tx, now, run_key, &before, at, Some(image_digest))?;
    Ok(())
}

fn run_on(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    before: &Run,
    at: Timestamp,
    image_digest: Option<&str>,
) -> Result<Run, Failure> {
    let run = Run {
        state: RunState::Running,
        started_at: Some(within(at, before.pulling_at, now)),
        image_digest: image_digest.map(str::to_owned).or_else(|| before.image_digest.clone()),
        ..before.clone()
    };
    change(tx, now, Actor::Engine, run_key, Some(before), run)
}

/// An instant that another clock tells, not before what came before it and not after now.
fn within(at: Timestamp, after: Option<Timestamp>, now: Timestamp) -> Timestamp {
    at.min(now).max(after.unwrap_or(at).min(now))
}

/// The run's container is frozen.
pub(super) fn paused(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    by: Actor,
    run_key: RunKey,
    container: u32,
) -> Result<(), Abort<Refusal>> {
    let before = with_container(tx, run_key, RunState::Running, container)?;
    let run = Run { state: RunState::Paused, paused_at: Some(now), ..before.clone() };
    change(tx, now, by, run_key, Some(&before), run)?;
    Ok(())
}

/// The run's container goes on; `paused_micros` is how long it has been paused by then.
pub(super) fn resumed(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    by: Actor,
    run_key: RunKey,
    container: u32,
    paused_micros: u64,
) -> Result<(), Abort<Refusal>> {
    let before = with_container(tx, run_key, RunState::Paused, container)?;
    let run = Run { state: RunState::Running, paused_at: None, paused_micros, ..before.clone() };
    change(tx, now, by, run_key, Some(&before), run)?;
    Ok(())
}

/// The run is about to be told to stop. A second stop changes nothing; says whether this is the first.
pub(super) fn stopping(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<bool, Abort<Refusal>> {
    let before = in_state(tx, run_key, &[RunState::Running])?;
    if before.is_stopping {
        return Ok(false);
    }
    let run = Run { is_stopping: true, ..before.clone() };
    change(tx, now, Actor::Api, run_key, Some(&before), run)?;
    Ok(true)
}

/// A run of the tenant, in one of these states.
pub(super) fn in_state(read: &impl Read, run_key: RunKey, states: &[RunState]) -> Result<Run, Abort<Refusal>> {
    let run = find(read, run_key)?.ok_or(Refusal::NotFound)?;
    if states.contains(&run.state) { Ok(run) } else { Err(Refusal::InvalidState(run.state.name()).into()) }
}

/// A run in this state whose last container is the one of this number.
fn with_container(read: &impl Read, run_key: RunKey, state: RunState, container: u32) -> Result<Run, Abort<Refusal>> {
    let run = in_state(read, run_key, &[state])?;
    if run.starts == container { Ok(run) } else { Err(Refusal::InvalidState(run.state.name()).into()) }
}

/// The run has ended; says whether that is news. `container` is the number of the container that this is about.
pub(super) fn ended(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    container: u32,
    end: &End,
) -> Result<bool, Failure> {
    let Some(before) = find(tx, run_key)? else { return Ok(false) };
    let has_container = matches!(before.state, RunState::Pulling | RunState::Running | RunState::Paused);
    if !has_container || before.starts != container {
        return Ok(false);
    }
    let before = ran(tx, now, run_key, before, end)?;
    let finished_at = within(end.finished_at, before.started_at.or(before.pulling_at), now);
    let run = Run {
        state: end.state,
        reason: end.reason,
        message: end.message.clone(),
        exit_code: end.exit_code,
        finished_at: Some(finished_at),
        paused_at: None,
        paused_micros: end.result.paused_micros,
        ..before.clone()
    };
    results::put(tx, run_key, &end.result, &end.last_words)?;
    change(tx, now, Actor::Engine, run_key, Some(&before), run)?;
    Ok(true)
}

/// The same, and where the run is an attempt at a node, its workflow goes on by it.
pub(super) fn ended_of_node(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    container: u32,
    end: &End,
    node_ends: NodeEnds,
) -> Result<bool, Failure> {
    let is_news = ended(tx, now, run_key, container, end)?;
    if is_news && find(tx, run_key)?.is_some_and(|run| run.workflow_id.is_some()) {
        node_ends(tx, now, run_key)?;
    }
    Ok(is_news)
}

/// An end may be heard of before what came before it: the container ran, or went on after a pause. That is noted first.
fn ran(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey, before: Run, end: &End) -> Result<Run, Failure> {
    let leads_there = transition(Some(before.state), end.state).is_some();
    match (before.state, end.started_at) {
        (RunState::Pulling, Some(at)) => run_on(tx, now, run_key, &before, at, None),
        (RunState::Pulling, None) if !leads_there => run_on(tx, now, run_key, &before, end.finished_at, None),
        (RunState::Paused, _) if !leads_there => {
            let paused_micros = end.result.paused_micros;
            let run = Run { state: RunState::Running, paused_at: None, paused_micros, ..before.clone() };
            change(tx, now, Actor::Engine, run_key, Some(&before), run)
        }
        _ => Ok(before),
    }
}
