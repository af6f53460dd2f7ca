//! What happens to a workflow is noted, and told to whoever asked for it, in the transaction in which it happens.

use quintet_platform::ids::ulid;
use quintet_platform::json::Json;
use quintet_platform::webhooks::Event;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{Detail, Happened, NodeState, WorkflowState};
use super::rows::{Live, output as output_of, webhook};
use super::rules::number;
use super::tables::{EVENTS, EventRow};
use super::view;
use crate::events::Events;
use crate::webhooks::emit::{Inline, Listeners, emit};

/// The state of a workflow has changed. `event` tells of it to who is subscribed; none does at its submission.
pub(super) fn workflow(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &mut Live,
    event: Option<&'static str>,
) -> Result<(), Failure> {
    let state = live.workflow.state;
    note(tx, now, live, Happened::Workflow(state), Detail::Nothing, event)
}

/// The event of a workflow that has come to its end, or has begun.
pub(super) const fn event_of(state: WorkflowState) -> Option<&'static str> {
    match state {
        WorkflowState::Pending => None,
        WorkflowState::Running => Some("workflow.running"),
        WorkflowState::Paused => Some("workflow.paused"),
        WorkflowState::Succeeded => Some("workflow.succeeded"),
        WorkflowState::Failed => Some("workflow.failed"),
        WorkflowState::Cancelled => Some("workflow.cancelled"),
    }
}

/// The state of a node has changed.
pub(super) fn node(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &mut Live,
    place: usize,
    detail: Detail,
) -> Result<(), Failure> {
    let state = live.nodes.get(place).map_or(NodeState::Pending, |node| node.state);
    note(tx, now, live, Happened::Node(number(place), state), detail, state.event())
}

fn note(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    live: &mut Live,
    happened: Happened,
    detail: Detail,
    name: Option<&'static str>,
) -> Result<(), Failure> {
    let event_id = tx.new_id();
    live.workflow.events += 1;
    let place = match happened {
        Happened::Node(place, _) => Some(super::rules::index(place)),
        Happened::Workflow(_) => None,
    };
    let row = EventRow { event_id: event_id.into_bytes(), happened, detail, created_at: now };
    tx.put(&EVENTS, &(live.key.0, live.key.1, live.workflow.events), &row)?;
    let Some(name) = name else { return Ok(()) };
    let asked = Events::of(name);
    let mut listeners = Listeners::of(tx, live.key.0, asked)?;
    if live.workflow.asked().meets(asked) {
        listeners.inline =
            webhook(tx, live.key)?.map(|held| Inline { url: held.url, key: held.secret.map(String::into_bytes) });
    }
    if listeners.is_empty() {
        return Ok(());
    }
    let workflow_id = ulid(live.key.1.0);
    let (resource_type, resource_id, data) = match place {
        None => ("workflow", workflow_id, workflow_data(live)),
        Some(place) => {
            let resource_id = format!("{workflow_id}/{}", live.reference(place));
            ("node", resource_id, node_data(tx, live, place)?)
        }
    };
    let name = name.to_owned();
    let event = Event { event_id, name, occurred_at: now, tenant_id: live.key.0.0, resource_type, resource_id, data };
    emit(tx, &event, listeners, live.workflow.retention_days)?;
    Ok(())
}

/// What is told of a workflow, in the contract's order.
fn workflow_data(live: &Live) -> Json {
    let workflow = &live.workflow;
    Json::object([
        ("workflow_id", Json::from(ulid(live.key.1.0))),
        ("state", workflow.state.name().into()),
        ("name", view::text(workflow.name.as_deref())),
        ("failure_policy", workflow.policy.name().into()),
        ("tags", view::texts(workflow.tags.iter().map(String::as_str))),
        ("nodes", view::nodes(live)),
        ("failed_nodes", view::texts(live.refs_in(NodeState::Failed))),
    ])
}

/// What is told of a node, in the contract's order.
fn node_data(tx: &WriteTx<'_>, live: &Live, place: usize) -> Result<Json, Failure> {
    let Some(node) = live.nodes.get(place) else { return Ok(Json::Null) };
    let output = if node.has_output { output_of(tx, live.node_key(place))? } else { None };
    Ok(Json::object([
        ("workflow_id", Json::from(ulid(live.key.1.0))),
        ("ref", live.reference(place).into()),
        ("state", node.state.name().into()),
        ("attempt", u64::from(node.attempt).into()),
        ("current_track_id", view::id(node.current_run())),
        ("exit_code", view::code(node.exit_code)),
        ("output", view::output(output)),
    ]))
}
