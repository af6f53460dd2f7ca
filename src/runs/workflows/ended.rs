//! The run of an attempt has ended: its node goes on, and the workflow with it.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{Detail, Node, NodeKind, NodeReason, NodeState};
use super::rows::{Live, load, put_output, save};
use super::rules::{Outcome, outcome};
use super::step::{fail, set, settle};
use crate::containers::model::Run;
use crate::containers::{find, results};
use crate::model::{RunKey, WorkflowId};

/// Has the workflow of a run that has ended go on. Nothing happens if the run is nobody's, has not ended, or is no attempt
/// that its node still waits for.
pub(crate) fn run_ended(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    go_on(tx, now, run_key, false)
}

/// The same by who goes on while the disk is down to its reserve: what is launched by that waits until there is room.
pub(crate) fn run_was_too_late(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    go_on(tx, now, run_key, true)
}

fn go_on(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey, is_held: bool) -> Result<(), Failure> {
    let Some(run) = find(tx, run_key)?.filter(|run| run.state.is_terminal()) else { return Ok(()) };
    let Some((workflow_id, reference)) = run.workflow_id.zip(run.node_ref.as_deref()) else { return Ok(()) };
    let Some(mut live) = load(tx, (run_key.0, WorkflowId(workflow_id)))? else { return Ok(()) };
    if live.workflow.state.is_terminal() {
        return Ok(());
    }
    live.is_held = is_held;
    let Some(place) = live.graph.place(reference) else { return Ok(()) };
    let is_awaited = |node: &&Node| node.state == NodeState::Running && node.run_id == Some(run_key.1.0.into_bytes());
    let Some(node) = live.nodes.get(place).filter(is_awaited).cloned() else { return Ok(()) };
    let node = Node { exit_code: run.exit_code, ..node };
    live.ran_micros = ran_micros(&run);
    match outcome(&run) {
        Outcome::Succeeded => succeed(tx, now, &mut live, place, node, &run, run_key)?,
        Outcome::Failed(reason) => match next_attempt(&live, place, &node, &run, now) {
            Some(retry_at) => {
                let message = run.message.clone();
                let attempt = node.attempt;
                let detail = Detail::Retrying { attempt, exit_code: run.exit_code, reason: Some(reason), retry_at };
                let (state, retry_at) = (NodeState::Retrying, Some(retry_at));
                set(&mut live, place, Node { state, retry_at, reason: Some(reason), message, ..node });
                super::told::node(tx, now, &mut live, place, detail)?;
            }
            None => fail_by(tx, now, &mut live, place, node, (&run, run_key), reason)?,
        },
        Outcome::Ended(reason) => fail_by(tx, now, &mut live, place, node, (&run, run_key), reason)?,
    }
    settle(tx, now, &mut live)?;
    save(tx, now, live)?;
    Ok(())
}

/// How long a run's container ran without its pauses, in microseconds.
fn ran_micros(run: &Run) -> u64 {
    let ran = run.started_at.zip(run.finished_at).map_or(0, |(from, to)| to.micros_since(from).max(0));
    u64::try_from(ran).unwrap_or(0).saturating_sub(run.paused_micros)
}

/// When the next attempt is made, if there is one left.
fn next_attempt(live: &Live, place: usize, node: &Node, run: &Run, now: Timestamp) -> Option<Timestamp> {
    let NodeKind::Container { retries, backoff_seconds } = live.graph.nodes.get(place)?.kind else { return None };
    let ended_at = run.finished_at.unwrap_or(now);
    (node.tries <= retries).then(|| ended_at.plus_seconds(i64::from(backoff_seconds)))
}

fn succeed(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &mut Live,
    place: usize,
    node: Node,
    run: &Run,
    run_key: RunKey,
) -> Result<(), Failure> {
    let has_output = keep_output(tx, live, place, run_key)?;
    let finished_at = run.finished_at.or(Some(now));
    let detail = Detail::Succeeded { attempt: node.attempt, exit_code: run.exit_code, has_output };
    set(live, place, Node { state: NodeState::Succeeded, has_output, finished_at, ..node });
    super::told::node(tx, now, live, place, detail)
}

fn fail_by(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &mut Live,
    place: usize,
    node: Node,
    (run, run_key): (&Run, RunKey),
    reason: NodeReason,
) -> Result<(), Failure> {
    let has_output = keep_output(tx, live, place, run_key)?;
    let node = Node { has_output, finished_at: run.finished_at, ..node };
    fail(tx, now, live, place, node, (reason, run.message.clone().unwrap_or_default()))
}

/// Copies what a run put out to its workflow; whether that was anything.
fn keep_output(tx: &mut WriteTx<'_>, live: &Live, place: usize, run_key: RunKey) -> Result<bool, Failure> {
    let (_, words) = results::get(tx, run_key)?;
    put_output(tx, live.node_key(place), words.output.as_deref())
}
