//! The operator's side of workflows: which there are, how one stands, its picture, and ending it. Records look as the
//! tenant's own listener shows them; what nodes run, what they wrote and what they were handed is not among them.

use quintet_platform::json::{Json, to_compact};
use quintet_storage::{Abort, Failure, Timestamp, Uuid, WriteTx};
use serde_json::Value;

use super::list::{Filter, list};
use super::model::{NodeState, WorkflowState};
use super::rows::{find, load_told, refs_in};
use super::{control, loads, picture as pictures, view};
use crate::context::Context;
use crate::model::{TenantId, WorkflowId, WorkflowKey};
use crate::pictures::NoPicture;
use crate::refusal::Refusal;

/// The names of the states of workflows.
pub const STATES: [&str; 6] = WorkflowState::NAMES;

/// Why a workflow was not cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCancelled {
    /// There is none.
    #[error("no such workflow")]
    NoSuch,
    /// It cannot be as it stands; says why.
    #[error("{0}")]
    NotNow(&'static str),
}

impl quintet_storage::Refusal for NotCancelled {}

fn key((tenant_id, workflow_id): (Uuid, Uuid)) -> WorkflowKey {
    (TenantId(tenant_id), WorkflowId(workflow_id))
}

/// The same JSON in the type that the operator's side speaks.
fn value(json: &Json) -> Value {
    serde_json::from_str(&to_compact(json)).unwrap_or_default()
}

/// The newest workflows of a tenant, of all states or of one, each with the instant at which it was submitted; and whether
/// there are older ones.
///
/// # Errors
/// The store's failures.
pub fn newest(
    context: &Context,
    tenant_id: Uuid,
    state: Option<&str>,
    limit: usize,
) -> Result<(Vec<(Timestamp, Value)>, bool), Failure> {
    let (read, tenant_id) = (context.store.read(), TenantId(tenant_id));
    let state = state.and_then(|name| WorkflowState::ALL.into_iter().find(|known| known.name() == name));
    let filter = Filter { state, ..Filter::default() };
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let page = list(&read, tenant_id, &filter, after, limit.saturating_sub(items.len()))?;
        for (id, workflow) in page.items {
            let key = (tenant_id, id);
            let failed = refs_in(&read, key, &workflow, NodeState::Failed)?;
            items.push((workflow.submitted_at, value(&view::item(key, &workflow, &failed))));
        }
        if page.next.is_none() || items.len() >= limit {
            return Ok((items, page.next.is_some()));
        }
        after = page.next;
    }
}

/// Whether a tenant has a workflow.
///
/// # Errors
/// The store's failures.
pub fn exists(context: &Context, tenant_id: Uuid, workflow_id: Uuid) -> Result<bool, Failure> {
    Ok(find(&context.store.read(), key((tenant_id, workflow_id)))?.is_some())
}

/// How the workflows of all tenants stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many there are in each state, in the order of [`STATES`].
    pub states: [u64; 6],
    /// Those that have not ended.
    pub active: u64,
    /// Gates that wait for a decision.
    pub open_gates: u64,
    /// Since when the oldest of them is open.
    pub oldest_gate_opened_at: Option<Timestamp>,
    /// How long attempts at nodes ran without their pauses, in microseconds.
    pub node_micros: u64,
}

/// How the workflows of all tenants stand.
///
/// # Errors
/// The store's failures.
pub fn standing(context: &Context) -> Result<Standing, Failure> {
    let (load, oldest_gate_opened_at) = loads::of_all(&context.store.read())?;
    let states = WorkflowState::ALL.iter().zip(load.states);
    Ok(Standing {
        states: load.states,
        active: states.filter(|(state, _)| !state.is_terminal()).map(|(_, count)| count).sum(),
        open_gates: load.open_gates,
        oldest_gate_opened_at,
        node_micros: load.node_micros,
    })
}

/// How a workflow and its nodes stand, if the tenant has it.
///
/// # Errors
/// The store's failures.
pub fn workflow(context: &Context, tenant_id: Uuid, workflow_id: Uuid) -> Result<Option<Value>, Failure> {
    let live = load_told(&context.store.read(), key((tenant_id, workflow_id)))?;
    Ok(live.map(|live| value(&view::status(&live))))
}

/// A workflow as DOT, to be drawn by [`picture`]; none: it is gone meanwhile.
///
/// # Errors
/// The store's failures.
pub fn graph(context: &Context, tenant_id: Uuid, workflow_id: Uuid) -> Result<Option<String>, Failure> {
    pictures::of_workflow(&context.store.read(), key((tenant_id, workflow_id)))
}

/// The picture of a tenant's graph, as SVG.
///
/// # Errors
/// Why there is none.
pub async fn picture(context: &Context, tenant_id: Uuid, dot: String) -> Result<Vec<u8>, NoPicture> {
    context.settings.painter.0.paint(tenant_id, dot).await
}

/// Cancels an active workflow of a tenant; how it stands then.
///
/// # Errors
/// [`NotCancelled`], and the store's failures.
pub fn cancel(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    workflow_id: Uuid,
) -> Result<Value, Abort<NotCancelled>> {
    let key = key((tenant_id, workflow_id));
    let workflow = control::cancel(tx, now, key).map_err(|abort| match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(Refusal::NotNow(why)) => Abort::Refused(NotCancelled::NotNow(why)),
        Abort::Refused(_) => Abort::Refused(NotCancelled::NoSuch),
    })?;
    let failed = refs_in(tx, key, &workflow, NodeState::Failed)?;
    Ok(value(&view::item(key, &workflow, &failed)))
}
