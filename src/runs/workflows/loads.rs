//! How many workflows a tenant has in each state, which gates are open and since when.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Node, NodeState, Workflow, WorkflowState};
use super::tables::{GateRow, LOADS, LoadRow, NodeKey, OPEN_GATES};
use crate::model::TenantId;

/// Loads read in one step.
const PAGE_ROWS: usize = 256;

/// What a transaction changes of it.
pub(super) struct Change {
    /// The state of a workflow before and after; none: it is not there.
    states: (Option<WorkflowState>, Option<WorkflowState>),
    ran_micros: u64,
    opened: u64,
    closed: u64,
}

impl Change {
    /// A workflow gets from one state, or from nowhere, to another; attempts ran for so long, in microseconds.
    pub(super) fn of(states: (Option<WorkflowState>, Option<WorkflowState>), ran_micros: u64) -> Change {
        Change { states, ran_micros, opened: 0, closed: 0 }
    }

    /// Notes what becomes of a node that may be a gate.
    pub(super) fn gate(
        &mut self,
        tx: &mut WriteTx<'_>,
        key: NodeKey,
        before: Option<&Node>,
        after: &Node,
    ) -> Result<(), Failure> {
        let row = |at| (at, key.0, key.1, key.2);
        if let Some(at) = before.and_then(open_since) {
            tx.delete(&OPEN_GATES, &row(at));
            self.closed += 1;
        }
        if let Some(at) = open_since(after) {
            tx.put(&OPEN_GATES, &row(at), &GateRow)?;
            self.opened += 1;
        }
        Ok(())
    }
}

/// Since when a gate is open; none if it is not, or no gate.
pub(super) fn open_since(node: &Node) -> Option<Timestamp> {
    node.started_at.filter(|_| node.state == NodeState::WaitingApproval)
}

/// Notes what has changed of a tenant's workflows.
pub(super) fn note(tx: &mut WriteTx<'_>, tenant_id: TenantId, change: &Change) -> Result<(), Failure> {
    let before = tx.get(&LOADS, &tenant_id)?.unwrap_or_default();
    let mut row = before;
    let (left, entered) = change.states;
    if let Some(count) = left.and_then(|state| row.states.get_mut(state.place())) {
        *count = count.saturating_sub(1);
    }
    if let Some(count) = entered.and_then(|state| row.states.get_mut(state.place())) {
        *count += 1;
    }
    row.open_gates = (row.open_gates + change.opened).saturating_sub(change.closed);
    row.node_micros = row.node_micros.saturating_add(change.ran_micros);
    if row == before { Ok(()) } else { tx.put(&LOADS, &tenant_id, &row) }
}

/// Notes that a workflow that has ended is gone.
pub(super) fn forget(tx: &mut WriteTx<'_>, tenant_id: TenantId, workflow: &Workflow) -> Result<(), Failure> {
    note(tx, tenant_id, &Change::of((Some(workflow.state), None), 0))
}

/// How many workflows of a tenant are active.
pub(super) fn active(read: &impl Read, tenant_id: TenantId) -> Result<u64, Failure> {
    let row = read.get(&LOADS, &tenant_id)?.unwrap_or_default();
    let states = WorkflowState::ALL.iter().zip(row.states);
    Ok(states.filter(|(state, _)| !state.is_terminal()).map(|(_, count)| count).sum())
}

/// What there is of the workflows of all tenants, and since when the oldest open gate is.
pub(super) fn of_all(read: &impl Read) -> Result<(LoadRow, Option<Timestamp>), Failure> {
    let mut all = LoadRow::default();
    let mut after = None;
    loop {
        let scan = after.iter().fold(Scan::all(), |scan, last| scan.after(last));
        let rows = read.scan(&LOADS, scan.limit(PAGE_ROWS))?;
        for (_, row) in &rows {
            all.states.iter_mut().zip(row.states).for_each(|(sum, count)| *sum += count);
            all.open_gates += row.open_gates;
            all.node_micros = all.node_micros.saturating_add(row.node_micros);
        }
        if rows.len() < PAGE_ROWS {
            break;
        }
        after = rows.last().map(|(key, _)| *key);
    }
    let first = read.scan(&OPEN_GATES, Scan::all().limit(1))?;
    Ok((all, first.first().map(|((at, ..), _)| *at)))
}
