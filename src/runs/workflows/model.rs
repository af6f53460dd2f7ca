//! The words of workflows.

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Timestamp, Uuid, decode_plain};

use crate::containers::model::{Reason, Webhook};
use crate::events::Events;
use crate::refusal::Refusal;

const SECONDS_OF_A_DAY: i64 = 86_400;

/// What there is none of.
pub(super) const NO_WORKFLOW: Refusal = Refusal::NoSuch("no such workflow in this tenant");
/// The same of a node.
pub(super) const NO_NODE: Refusal = Refusal::NoSuch("the workflow has no such node");

/// The states of a workflow, in the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum WorkflowState {
    /// Nothing of it was launched.
    Pending,
    /// It goes on by itself.
    Running,
    /// Nothing new is launched.
    Paused,
    /// All has ended, and no node failed.
    Succeeded,
    /// All has ended, and a node failed.
    Failed,
    /// Somebody wanted it.
    Cancelled,
}

impl WorkflowState {
    /// Its place among all, for counts.
    pub(super) fn place(self) -> usize {
        WorkflowState::ALL.iter().position(|state| *state == self).unwrap_or(0)
    }

    /// Every state.
    pub(crate) const ALL: [WorkflowState; 6] = [
        WorkflowState::Pending,
        WorkflowState::Running,
        WorkflowState::Paused,
        WorkflowState::Succeeded,
        WorkflowState::Failed,
        WorkflowState::Cancelled,
    ];

    /// The names of all, in the same order.
    pub(crate) const NAMES: [&'static str; 6] = [
        WorkflowState::Pending.name(),
        WorkflowState::Running.name(),
        WorkflowState::Paused.name(),
        WorkflowState::Succeeded.name(),
        WorkflowState::Failed.name(),
        WorkflowState::Cancelled.name(),
    ];

    /// The contract's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            WorkflowState::Pending => "pending",
            WorkflowState::Running => "running",
            WorkflowState::Paused => "paused",
            WorkflowState::Succeeded => "succeeded",
            WorkflowState::Failed => "failed",
            WorkflowState::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more happens to it by itself.
    pub(crate) const fn is_terminal(self) -> bool {
        matches!(self, WorkflowState::Succeeded | WorkflowState::Failed | WorkflowState::Cancelled)
    }
}

/// The states of a node, in the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum NodeState {
    /// It waits for its edges.
    Pending,
    /// An attempt at it has not ended.
    Running,
    /// It waits for the next attempt.
    Retrying,
    /// Its gate is open.
    WaitingApproval,
    /// Its run returned 0, or its gate was approved.
    Succeeded,
    /// It failed for good, or its gate was rejected.
    Failed,
    /// It can never be launched.
    Skipped,
    /// Its workflow was cancelled.
    Cancelled,
}

impl NodeState {
    /// Every state.
    pub(crate) const ALL: [NodeState; 8] = [
        NodeState::Pending,
        NodeState::Running,
        NodeState::Retrying,
        NodeState::WaitingApproval,
        NodeState::Succeeded,
        NodeState::Failed,
        NodeState::Skipped,
        NodeState::Cancelled,
    ];

    /// The contract's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            NodeState::Pending => "pending",
            NodeState::Running => "running",
            NodeState::Retrying => "retrying",
            NodeState::WaitingApproval => "waiting_approval",
            NodeState::Succeeded => "succeeded",
            NodeState::Failed => "failed",
            NodeState::Skipped => "skipped",
            NodeState::Cancelled => "cancelled",
        }
    }

    /// Its place among all, for counts.
    pub(super) fn place(self) -> usize {
        NodeState::ALL.iter().position(|state| *state == self).unwrap_or(0)
    }

    /// Whether nothing more happens to it by itself.
    pub(crate) const fn is_terminal(self) -> bool {
        matches!(self, NodeState::Succeeded | NodeState::Failed | NodeState::Skipped | NodeState::Cancelled)
    }

    /// The event that tells of it; none tells of a node that waits.
    pub(super) const fn event(self) -> Option<&'static str> {
        match self {
            NodeState::Pending => None,
            NodeState::Running => Some("node.running"),
            NodeState::Retrying => Some("node.retrying"),
            NodeState::WaitingApproval => Some("node.waiting_approval"),
            NodeState::Succeeded => Some("node.succeeded"),
            NodeState::Failed => Some("node.failed"),
            NodeState::Skipped => Some("node.skipped"),
            NodeState::Cancelled => Some("node.cancelled"),
        }
    }
}

/// What a failed node does to the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum FailurePolicy {
    /// Nothing more is launched but what lies on a failure path.
    FailFast,
    /// What does not depend on it goes on.
    Continue,
}

/// The names of both.
pub(super) const POLICY_NAMES: [&str; 2] = ["fail_fast", "continue"];

impl FailurePolicy {
    /// Its name in bodies.
    pub(crate) const fn name(self) -> &'static str {
        let [fail_fast, go_on] = POLICY_NAMES;
        match self {
            FailurePolicy::FailFast => fail_fast,
            FailurePolicy::Continue => go_on,
        }
    }
}

/// What an edge wants of its upstream node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Condition {
    OnSuccess,
    OnFailure,
    Always,
}

/// The names of all three.
pub(super) const CONDITION_NAMES: [&str; 3] = ["on_success", "on_failure", "always"];

impl Condition {
    /// All of them, in the order of their names.
    pub(super) const ALL: [Condition; 3] = [Condition::OnSuccess, Condition::OnFailure, Condition::Always];

    /// Its name in bodies.
    pub(crate) const fn name(self) -> &'static str {
        let [on_success, on_failure, always] = CONDITION_NAMES;
        match self {
            Condition::OnSuccess => on_success,
            Condition::OnFailure => on_failure,
            Condition::Always => always,
        }
    }
}

/// An edge; nodes by their places in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) condition: Condition,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum NodeKind {
    /// A container, with what becomes of one that fails.
    Container { retries: u32, backoff_seconds: u32 },
    /// A human decision, which the clock takes after so many seconds if nobody does.
    Gate { expiry: Option<Expiry> },
}

impl NodeKind {
    /// Its name in bodies.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            NodeKind::Container { .. } => "container",
            NodeKind::Gate { .. } => "approval",
        }
    }
}

/// What the clock decides of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Expiry {
    pub(crate) after_seconds: u32,
    pub(crate) verdict: Verdict,
}

/// A node as it stays.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct GraphNode {
    pub(crate) reference: String,
    pub(crate) kind: NodeKind,
    /// The nodes whose output it is handed.
    pub(crate) inputs_from: Vec<u32>,
}

/// What a workflow's shape is: nodes and edges in the order of submission. It never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<Edge>,
}

impl Graph {
    /// The place of a node.
    pub(crate) fn place(&self, reference: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.reference == reference)
    }
}

/// What a container node runs, but for its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Spec {
    pub(crate) image: String,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) cpu_millicores: Option<u64>,
    pub(crate) memory_mb: Option<u64>,
}

/// What of it must not lie about in the clear. It is sealed in this shape.
#[derive(Clone, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SpecSecrets {
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// What is shown of the command, where that is not what is run.
    pub(crate) shown_command: Option<Vec<String>>,
}

impl SpecSecrets {
    /// What was sealed. What was sealed before there were hidden commands ends before the last member: a byte more says
    /// that there is none.
    pub(super) fn decode(plain: &[u8]) -> Result<SpecSecrets, Failure> {
        decode_plain(plain).or_else(|_| decode_plain(&[plain, &[0]].concat()))
    }
}

impl std::fmt::Debug for SpecSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpecSecrets({} words, {} variables)", self.command.len(), self.env.len())
    }
}

/// A node as it is asked for; refs are not looked at yet.
#[derive(Clone, Debug)]
pub(crate) struct NewNode {
    pub(crate) reference: String,
    pub(crate) kind: NodeKind,
    pub(crate) inputs_from: Vec<String>,
    /// None for a gate.
    pub(crate) spec: Option<(Spec, SpecSecrets)>,
}

/// An edge as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct NewEdge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) condition: Condition,
}

/// Where a workflow comes from, if not from a submission of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Origin {
    pub(crate) template_id: Option<[u8; 16]>,
    pub(crate) template_version: Option<u64>,
    pub(crate) trigger_id: Option<[u8; 16]>,
}

/// A workflow as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct NewWorkflow {
    pub(crate) name: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) policy: FailurePolicy,
    pub(crate) nodes: Vec<NewNode>,
    pub(crate) edges: Vec<NewEdge>,
    pub(crate) webhook: Option<(Webhook, Option<String>)>,
    pub(crate) scheduled_start: Option<Timestamp>,
    pub(crate) origin: Origin,
    /// The key that asks, whose terms hold for all its runs.
    pub(crate) key_id: String,
}

/// How a workflow stands.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Workflow {
    pub(crate) state: WorkflowState,
    pub(crate) name: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) policy: FailurePolicy,
    /// A node has failed since it was submitted, or since a node was last retried: what fail_fast goes by.
    pub(crate) has_failed: bool,
    /// Set if it was to start later than it was submitted.
    pub(crate) scheduled_start: Option<Timestamp>,
    pub(crate) submitted_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    pub(crate) origin: Origin,
    pub(crate) key_id: String,
    pub(crate) retention_days: u64,
    /// How many events it has had.
    pub(crate) events: u64,
    /// How many of its nodes are in each state, in the order of [`NodeState::ALL`].
    pub(crate) counts: [u32; 8],
    /// What its inline webhook asks for, as bits.
    pub(crate) asked_events: u32,
}

impl Workflow {
    /// What its inline webhook asks for.
    pub(super) fn asked(&self) -> Events {
        Events(self.asked_events)
    }

    /// Whether it has ended with all its nodes: one that was cancelled may have nodes that are cancelled in the next
    /// transaction.
    pub(super) fn is_over(&self) -> bool {
        let active = NodeState::ALL.iter().zip(self.counts).filter(|(state, _)| !state.is_terminal());
        self.state.is_terminal() && active.map(|(_, count)| count).sum::<u32>() == 0
    }

    /// How many of its nodes are in each state as everybody is told it: of one that was cancelled none goes on.
    pub(super) fn told_counts(&self) -> [u32; 8] {
        let mut told = self.counts;
        if self.state == WorkflowState::Cancelled {
            let mut count = 0;
            for (told, state) in told.iter_mut().zip(NodeState::ALL) {
                count += if state.is_terminal() { 0 } else { std::mem::take(told) };
            }
            if let Some(cancelled) = told.get_mut(NodeState::Cancelled.place()) {
                *cancelled += count;
            }
        }
        told
    }

    /// When an ended workflow has been kept long enough.
    pub(super) fn old_at(&self) -> Timestamp {
        let days = i64::try_from(self.retention_days).unwrap_or(i64::MAX);
        self.finished_at.unwrap_or(self.submitted_at).plus_seconds(days.saturating_mul(SECONDS_OF_A_DAY))
    }

    /// Whether something may be launched now.
    pub(super) fn may_launch(&self, now: Timestamp) -> bool {
        match self.state {
            WorkflowState::Running => true,
            WorkflowState::Pending => self.scheduled_start.is_none_or(|start| start <= now),
            _ => false,
        }
    }
}

/// Why a node is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum NodeReason {
    /// What its run says.
    Run(Reason),
    /// Its run was told to stop.
    Stopped,
    /// Its run could not be paid for.
    MeteredQuotaExceeded,
    /// Its gate was rejected.
    Rejected,
    /// An edge to it can never be satisfied.
    Upstream,
    /// Another node failed.
    FailFast,
}

impl NodeReason {
    /// Its name in answers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            NodeReason::Run(reason) => reason.name(),
            NodeReason::Stopped => "stopped",
            NodeReason::MeteredQuotaExceeded => "metered_quota_exceeded",
            NodeReason::Rejected => "rejected",
            NodeReason::Upstream => "upstream",
            NodeReason::FailFast => "fail_fast",
        }
    }
}

/// How a gate is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Verdict {
    Approved,
    Rejected,
}

impl Verdict {
    /// Its name in answers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Verdict::Approved => "approved",
            Verdict::Rejected => "rejected",
        }
    }
}

/// A decision on a gate.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    pub(crate) comment: Option<String>,
    pub(crate) decided_at: Timestamp,
    /// The label of a key, or `expiry`.
    pub(crate) decided_by: String,
}

/// How a node stands.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Node {
    pub(crate) state: NodeState,
    /// The number of its latest attempt, or opening; 0: there was none.
    pub(crate) attempt: u32,
    /// Attempts since it was submitted, or last retried by somebody.
    pub(crate) tries: u32,
    /// The run of its latest attempt.
    pub(crate) run_id: Option<[u8; 16]>,
    pub(crate) exit_code: Option<i32>,
    pub(crate) reason: Option<NodeReason>,
    pub(crate) message: Option<String>,
    pub(crate) has_output: bool,
    /// When the next attempt is made.
    pub(crate) retry_at: Option<Timestamp>,
    /// When the clock decides its gate.
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    pub(crate) decision: Option<Decision>,
}

impl Node {
    /// One that nothing has happened to, after so many attempts.
    pub(super) fn pending(attempt: u32) -> Node {
        Node {
            state: NodeState::Pending,
            attempt,
            tries: 0,
            run_id: None,
            exit_code: None,
            reason: None,
            message: None,
            has_output: false,
            retry_at: None,
            expires_at: None,
            started_at: None,
            finished_at: None,
            decision: None,
        }
    }

    /// The run of its latest attempt.
    pub(crate) fn current_run(&self) -> Option<Uuid> {
        self.run_id.map(Uuid::from_bytes)
    }
}

/// What an event tells besides its state.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Detail {
    Nothing,
    /// Somebody had the node retried.
    Reset,
    Launched {
        attempt: u32,
        run_id: [u8; 16],
    },
    Opened {
        attempt: u32,
    },
    Succeeded {
        attempt: u32,
        exit_code: Option<i32>,
        has_output: bool,
    },
    Approved {
        attempt: u32,
        comment: Option<String>,
    },
    Retrying {
        attempt: u32,
        exit_code: Option<i32>,
        reason: Option<NodeReason>,
        retry_at: Timestamp,
    },
    Failed {
        attempt: u32,
        exit_code: Option<i32>,
        reason: Option<NodeReason>,
        message: Option<String>,
    },
    Skipped {
        reason: NodeReason,
        from: Option<u32>,
    },
}

/// Something that happened to a workflow or a node of it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Happened {
    Workflow(WorkflowState),
    Node(u32, NodeState),
}
