//! What is stored of workflows. Nobody but `rows` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x041F | workflows | tenant, workflow | how a workflow stands |
//! | 0x0420 | workflow graphs | tenant, workflow | its nodes and edges, which never change |
//! | 0x0421 | workflow webhooks | tenant, workflow | its inline webhook, sealed, if it has one |
//! | 0x0422 | workflow specs | tenant, workflow, node | what a container node runs, its command and environment sealed |
//! | 0x0423 | workflow nodes | tenant, workflow, node | how a node stands |
//! | 0x0424 | workflow attempts | tenant, workflow, node, number | the run of each attempt |
//! | 0x0425 | workflow outputs | tenant, workflow, node | the output of a node, sealed |
//! | 0x0426 | workflow events | tenant, workflow, number | what happened |
//! | 0x0427 | workflow loads (hot) | tenant | how many workflows there are in each state, how many gates are open |
//! | 0x042F | open gates | instant of opening, tenant, workflow, node | the key says everything |
//!
//! Nodes go by their place in the order of submission.

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::{Detail, Graph, Happened, Node, Spec, Workflow};
use crate::model::{FAMILY, TenantId, WorkflowId, WorkflowKey};

/// Tenant, workflow, the place of a node.
pub(super) type NodeKey = (TenantId, WorkflowId, u32);

/// Workflows.
pub(super) const WORKFLOWS: Table<WorkflowKey, WorkflowRow> = Table::new(0x041F, FAMILY, "runs_workflows");
/// Their graphs.
pub(super) const GRAPHS: Table<WorkflowKey, GraphRow> = Table::new(0x0420, FAMILY, "runs_workflow_graphs");
/// Their webhooks.
pub(super) const WEBHOOKS: Table<WorkflowKey, SealedRow> = Table::new(0x0421, FAMILY, "runs_workflow_webhooks");
/// What their nodes run.
pub(super) const SPECS: Table<NodeKey, SpecRow> = Table::new(0x0422, FAMILY, "runs_workflow_specs");
/// How their nodes stand.
pub(super) const NODES: Table<NodeKey, NodeRow> = Table::new(0x0423, FAMILY, "runs_workflow_nodes");
/// Attempts.
pub(super) const ATTEMPTS: Table<(TenantId, WorkflowId, u32, u32), AttemptRow> =
    Table::new(0x0424, FAMILY, "runs_workflow_attempts");
/// Outputs.
pub(super) const OUTPUTS: Table<NodeKey, SealedRow> = Table::new(0x0425, FAMILY, "runs_workflow_outputs");
/// What happened.
pub(super) const EVENTS: Table<(TenantId, WorkflowId, u64), EventRow> =
    Table::new(0x0426, FAMILY, "runs_workflow_events");
/// How many there are.
pub(super) const LOADS: Table<TenantId, LoadRow> = Table::new(0x0427, FAMILY, "runs_workflow_loads").hot();
/// Gates that are open.
pub(super) const OPEN_GATES: Table<(Timestamp, TenantId, WorkflowId, u32), GateRow> =
    Table::new(0x042F, FAMILY, "runs_open_gates");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[
    WORKFLOWS.spec(),
    GRAPHS.spec(),
    WEBHOOKS.spec(),
    SPECS.spec(),
    NODES.spec(),
    ATTEMPTS.spec(),
    OUTPUTS.spec(),
    EVENTS.spec(),
    LOADS.spec(),
    OPEN_GATES.spec(),
];

/// See [`Workflow`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct WorkflowRow(pub(super) Workflow);
impl Row for WorkflowRow {}

/// See [`Graph`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct GraphRow(pub(super) Graph);
impl Row for GraphRow {}

/// What is sealed for the tenant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct SealedRow(pub(super) Sealed);
impl Row for SealedRow {}

/// What a container node runs.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct SpecRow {
    pub(super) spec: Spec,
    /// [`SpecSecrets`](super::model::SpecSecrets), for the tenant.
    pub(super) secrets: Sealed,
}
impl Row for SpecRow {}

/// See [`Node`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct NodeRow(pub(super) Node);
impl Row for NodeRow {}

/// An attempt at a node.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct AttemptRow {
    pub(super) run_id: [u8; 16],
}
impl Row for AttemptRow {}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct EventRow {
    /// Its id in deliveries.
    pub(super) event_id: [u8; 16],
    pub(super) happened: Happened,
    pub(super) detail: Detail,
    pub(super) created_at: Timestamp,
}
impl Row for EventRow {}

/// What there is of a tenant's workflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct LoadRow {
    /// How many are in each state, in the order of [`WorkflowState::ALL`](super::model::WorkflowState::ALL).
    pub(super) states: [u64; 6],
    /// How many gates are open.
    pub(super) open_gates: u64,
    /// How long attempts at nodes ran without their pauses, in microseconds, as far as their workflows have heard of it.
    pub(super) node_micros: u64,
}
impl Row for LoadRow {}

/// Its key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct GateRow;
impl Row for GateRow {}
