//! The one way a workflow goes on: whatever has changed, edges and policy are followed to the fixpoint, what is ready is
//! launched, and the workflow ends if nothing is left.
//!
//! A step is as large as a graph, and each part of it is told to everybody who asked for that; a transaction is not. What
//! is too much for this one is left to the next: the workflow notes that it goes on, and the clock has it go on at once.

use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::model::{Detail, FailurePolicy, Node, NodeKind, NodeReason, NodeState, WorkflowState};
use super::rows::{Live, open_spec, output, put_attempt};
use super::rules::{index, variable};
use super::told;
use crate::containers::changes::is_long;
use crate::containers::model::{Reason, Secrets, WORDS_BYTES_MAX, WORDS_MAX, variable_bytes, words_bytes};
use crate::containers::submission::{Attempt, Submit, launch};
use crate::refusal::Refusal;

/// Has a workflow go on as far as it can now, and as far as fits into this transaction.
pub(super) fn settle(tx: &mut WriteTx<'_>, now: Timestamp, live: &mut Live) -> Result<(), Failure> {
    loop {
        skip(tx, now, live)?;
        let has_failed = launch_ready(tx, now, live)?;
        if live.goes_on {
            return Ok(());
        }
        if !has_failed {
            break;
        }
    }
    // A paused one stays so until it goes on.
    let may_end = matches!(live.workflow.state, WorkflowState::Pending | WorkflowState::Running);
    if may_end && live.nodes.iter().all(|node| node.state.is_terminal()) {
        if leaves_rest(tx, live) {
            return Ok(());
        }
        let has_failed = live.nodes.iter().any(|node| node.state == NodeState::Failed);
        live.workflow.state = if has_failed { WorkflowState::Failed } else { WorkflowState::Succeeded };
        live.workflow.finished_at = Some(now);
        told::workflow(tx, now, live, told::event_of(live.workflow.state))?;
    }
    Ok(())
}

/// Whether what comes next is left to the next transaction, for this one is long.
pub(super) fn leaves_rest(tx: &WriteTx<'_>, live: &mut Live) -> bool {
    live.goes_on |= is_long(tx);
    live.goes_on
}

fn skip(tx: &mut WriteTx<'_>, now: Timestamp, live: &mut Live) -> Result<(), Failure> {
    let skipped = live.ways.skipped(&live.states(), live.workflow.policy, live.workflow.has_failed);
    for (place, reason, from) in skipped {
        if leaves_rest(tx, live) {
            return Ok(());
        }
        if let Some(node) = live.nodes.get_mut(place) {
            *node = Node {
                state: NodeState::Skipped,
                reason: Some(reason),
                finished_at: Some(now),
                ..Node::pending(node.attempt)
            };
        }
        told::node(tx, now, live, place, Detail::Skipped { reason, from })?;
    }
    Ok(())
}

/// Launches what is ready, and what has waited long enough for its next attempt; whether a node failed by that, so that
/// more is to be done.
fn launch_ready(tx: &mut WriteTx<'_>, now: Timestamp, live: &mut Live) -> Result<bool, Failure> {
    if live.goes_on || !live.workflow.may_launch(now) {
        return Ok(false);
    }
    let mut places = live.ways.ready(&live.states());
    let waited = |(_, node): &(usize, &Node)| {
        node.state == NodeState::Retrying && node.retry_at.is_some_and(|retry_at| retry_at <= now)
    };
    places.extend(live.nodes.iter().enumerate().filter(waited).map(|(place, _)| place));
    places.sort_unstable();
    let mut has_failed = false;
    live.goes_on |= live.is_held && !places.is_empty();
    for place in places {
        if leaves_rest(tx, live) {
            return Ok(false);
        }
        if !launch_node(tx, now, live, place)? {
            has_failed = true;
            if live.workflow.policy == FailurePolicy::FailFast {
                // The rest may not be launched any more.
                return Ok(true);
            }
        }
    }
    Ok(has_failed)
}

/// The first launch makes a workflow run.
fn begin(tx: &mut WriteTx<'_>, now: Timestamp, live: &mut Live) -> Result<(), Failure> {
    live.workflow.started_at = live.workflow.started_at.or(Some(now));
    if live.workflow.state == WorkflowState::Pending {
        live.workflow.state = WorkflowState::Running;
        told::workflow(tx, now, live, told::event_of(WorkflowState::Running))?;
    }
    Ok(())
}

/// Launches a node; whether that was possible. A container that cannot be paid for has failed.
fn launch_node(tx: &mut WriteTx<'_>, now: Timestamp, live: &mut Live, place: usize) -> Result<bool, Failure> {
    let Some((known, node)) = live.graph.nodes.get(place).zip(live.nodes.get(place)) else { return Ok(true) };
    let attempt = node.attempt.saturating_add(1);
    let started_at = node.started_at.or(Some(now));
    let launched = Node { started_at, tries: node.tries.saturating_add(1), ..Node::pending(attempt) };
    let (node, detail) = match known.kind {
        NodeKind::Gate { expiry } => {
            let expires_at = expiry.map(|expiry| now.plus_seconds(i64::from(expiry.after_seconds)));
            (Node { state: NodeState::WaitingApproval, expires_at, ..launched }, Detail::Opened { attempt })
        }
        NodeKind::Container { .. } => match launch_run(tx, now, live, place, attempt)? {
            Ok(run_id) => {
                let node = Node { state: NodeState::Running, run_id: Some(run_id), ..launched };
                (node, Detail::Launched { attempt, run_id })
            }
            Err((reason, message)) => {
                let node = Node { attempt: attempt - 1, ..live.nodes.get(place).cloned().unwrap_or(launched) };
                fail(tx, now, live, place, node, (reason, message))?;
                return Ok(false);
            }
        },
    };
    begin(tx, now, live)?;
    set(live, place, node);
    told::node(tx, now, live, place, detail)?;
    Ok(true)
}

/// Makes the run of an attempt. What keeps it from being made is why the node has failed.
fn launch_run(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &Live,
    place: usize,
    attempt: u32,
) -> Result<Result<[u8; 16], (NodeReason, String)>, Failure> {
    let key = live.node_key(place);
    let gone = || (NodeReason::Run(Reason::StartFailed), "what it is to run cannot be read any more".to_owned());
    let Some((spec, secrets)) = open_spec(tx, key)? else { return Ok(Err(gone())) };
    let mut env = secrets.env;
    let mut bytes = words_bytes(&secrets.command, &env);
    for from in live.graph.nodes.get(place).map(|known| known.inputs_from.as_slice()).unwrap_or_default() {
        let has_output = live.nodes.get(index(*from)).is_some_and(|node| node.has_output);
        let Some(text) = (if has_output { output(tx, live.node_key(index(*from)))? } else { None }) else { continue };
        let name = variable(live.reference(index(*from)));
        // Each copy is written in this transaction, and the runner would take no more.
        bytes += variable_bytes(&name, &text);
        if bytes > WORDS_BYTES_MAX || env.len() >= WORDS_MAX {
            let message = "its command, env and inputs take more than 512 KiB, or 4096 variables, together".to_owned();
            return Ok(Err((NodeReason::Run(Reason::StartFailed), message)));
        }
        env.retain(|(known, _)| *known != name);
        env.push((name, text));
    }
    let (command, hidden) = match secrets.shown_command {
        Some(shown) => (shown, Some(secrets.command)),
        None => (secrets.command, None),
    };
    let asked = Submit {
        image: spec.image,
        command,
        secrets: Secrets { env, webhook_secret: None, command: hidden },
        timeout_seconds: spec.timeout_seconds,
        cpu_millicores: spec.cpu_millicores,
        memory_mb: spec.memory_mb,
        name: Some(live.reference(place).to_owned()),
        tags: live.workflow.tags.clone(),
        scheduled_start: None,
        expires_at: None,
        webhook: None,
        key_id: Some(live.workflow.key_id.clone()),
    };
    let which = Attempt { workflow_id: live.key.1.0, node_ref: live.reference(place).to_owned(), number: attempt };
    let tenant_id = live.key.0;
    match tx.savepoint(|tx| launch(tx, now, tenant_id, asked, which)) {
        Ok((run_id, _)) => {
            put_attempt(tx, key, attempt, run_id.0)?;
            Ok(Ok(run_id.0.into_bytes()))
        }
        Err(Abort::Refused(Refusal::MeteredQuota(left, wanted))) => {
            let message = format!("the key has {left} seconds left, and the run would be charged {wanted}");
            Ok(Err((NodeReason::MeteredQuotaExceeded, message)))
        }
        Err(Abort::Refused(_)) => Ok(Err(gone())),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// A node has failed for good.
pub(super) fn fail(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &mut Live,
    place: usize,
    node: Node,
    (reason, message): (NodeReason, String),
) -> Result<(), Failure> {
    let message = Some(message).filter(|message| !message.is_empty());
    let detail = Detail::Failed {
        attempt: node.attempt,
        exit_code: node.exit_code,
        reason: Some(reason),
        message: message.clone(),
    };
    let node = Node {
        state: NodeState::Failed,
        reason: Some(reason),
        message,
        retry_at: None,
        expires_at: None,
        finished_at: node.finished_at.or(Some(now)),
        ..node
    };
    set(live, place, node);
    live.workflow.has_failed = true;
    told::node(tx, now, live, place, detail)
}

/// Puts a node into its place.
pub(super) fn set(live: &mut Live, place: usize, node: Node) {
    if let Some(known) = live.nodes.get_mut(place) {
        *known = node;
    }
}
