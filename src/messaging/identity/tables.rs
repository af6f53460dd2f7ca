//! What is stored of workspaces, keys, agents and mailboxes.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0500 | workspaces | number | what a workspace is |
//! | 0x0501 | workspaces by slug | slug | its number |
//! | 0x0502 | workspaces by tenant | tenant, number | |
//! | 0x0503 | workspace counts | number | how many agents and keys there are |
//! | 0x0504 | keys | key id | what a key opens |
//! | 0x0505 | keys by workspace | workspace, key id | |
//! | 0x0506 | agents | workspace, agent | what an agent is |
//! | 0x0507 | agents by name | workspace, name | its number |
//! | 0x0508 | agents by session | workspace, session key, role | its number |
//! | 0x0509 | agents by label | workspace, key, value, agent | |
//! | 0x050A | mailboxes | workspace, agent | what deliveries need to know of an agent |
//! | 0x050F | workspace activations | number | when it was last put back into service |

use std::fmt;

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Agent, Availability, Counts, Key, Mailbox, Priority, Scope, Standing, Status, Workspace};
use crate::model::{AgentKey, AgentNo, FAMILY, Mark, WorkspaceNo};

pub(super) const WORKSPACES: Table<WorkspaceNo, WorkspaceRow> =
    Table::new(0x0500, FAMILY, "messaging_workspaces").hot();
pub(super) const WORKSPACES_BY_SLUG: Table<String, WorkspaceNoRow> =
    Table::new(0x0501, FAMILY, "messaging_workspaces_by_slug");
pub(super) const WORKSPACES_BY_TENANT: Table<(Uuid, WorkspaceNo), Mark> =
    Table::new(0x0502, FAMILY, "messaging_workspaces_by_tenant");
pub(super) const COUNTS: Table<WorkspaceNo, CountsRow> = Table::new(0x0503, FAMILY, "messaging_workspace_counts");
/// Asked with each change, for its key may have been revoked since it was let in.
pub(super) const KEYS: Table<String, KeyRow> = Table::new(0x0504, FAMILY, "messaging_keys").hot();
pub(super) const KEYS_BY_WORKSPACE: Table<(WorkspaceNo, String), Mark> =
    Table::new(0x0505, FAMILY, "messaging_keys_by_workspace");
/// Asked with each message, for what its sender says that he is.
pub(super) const AGENTS: Table<AgentKey, AgentRow> = Table::new(0x0506, FAMILY, "messaging_agents").hot();
pub(super) const AGENTS_BY_NAME: Table<(WorkspaceNo, String), AgentNoRow> =
    Table::new(0x0507, FAMILY, "messaging_agents_by_name").hot();
pub(super) const AGENTS_BY_SESSION: Table<(WorkspaceNo, String, String), AgentNoRow> =
    Table::new(0x0508, FAMILY, "messaging_agents_by_session");
pub(super) const AGENTS_BY_LABEL: Table<(WorkspaceNo, String, String, AgentNo), Mark> =
    Table::new(0x0509, FAMILY, "messaging_agents_by_label");
pub(super) const MAILBOXES: Table<AgentKey, MailboxRow> = Table::new(0x050A, FAMILY, "messaging_mailboxes").hot();
pub(super) const ACTIVATIONS: Table<WorkspaceNo, ActivationRow> =
    Table::new(0x050F, FAMILY, "messaging_workspace_activations");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[
    WORKSPACES.spec(),
    WORKSPACES_BY_SLUG.spec(),
    WORKSPACES_BY_TENANT.spec(),
    COUNTS.spec(),
    KEYS.spec(),
    KEYS_BY_WORKSPACE.spec(),
    AGENTS.spec(),
    AGENTS_BY_NAME.spec(),
    AGENTS_BY_SESSION.spec(),
    AGENTS_BY_LABEL.spec(),
    MAILBOXES.spec(),
    ACTIVATIONS.spec(),
];

/// A workspace's number.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct WorkspaceNoRow(pub(super) WorkspaceNo);
impl Row for WorkspaceNoRow {}

/// An agent's number.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct AgentNoRow(pub(super) AgentNo);
impl Row for AgentNoRow {}

/// See [`Workspace`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct WorkspaceRow {
    id: [u8; 16],
    slug: String,
    name: String,
    tenant: [u8; 16],
    is_encrypted: bool,
    is_ingress_open: bool,
    status: Status,
    created_at: Timestamp,
    limits: Vec<(u8, Option<u64>)>,
}
impl Row for WorkspaceRow {}

impl WorkspaceRow {
    pub(super) fn of(workspace: &Workspace) -> WorkspaceRow {
        WorkspaceRow {
            id: workspace.id.into_bytes(),
            slug: workspace.slug.clone(),
            name: workspace.name.clone(),
            tenant: workspace.tenant_id.into_bytes(),
            is_encrypted: workspace.is_encrypted,
            is_ingress_open: workspace.is_ingress_open,
            status: workspace.status,
            created_at: workspace.created_at,
            limits: workspace.limits.clone(),
        }
    }

    pub(super) fn into_workspace(self, no: WorkspaceNo) -> Workspace {
        Workspace {
            no,
            id: Uuid::from_bytes(self.id),
            slug: self.slug,
            name: self.name,
            tenant_id: Uuid::from_bytes(self.tenant),
            is_encrypted: self.is_encrypted,
            is_ingress_open: self.is_ingress_open,
            status: self.status,
            created_at: self.created_at,
            limits: self.limits,
        }
    }
}

/// When a workspace was put back into service.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ActivationRow(pub(super) Timestamp);
impl Row for ActivationRow {}

/// See [`Counts`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct CountsRow {
    agents_ever: u32,
    active_agents: u32,
    operator_keys: u32,
    bound_keys: u32,
}
impl Row for CountsRow {}

impl CountsRow {
    pub(super) fn of(counts: Counts) -> CountsRow {
        let Counts { agents_ever, active_agents, operator_keys, bound_keys } = counts;
        CountsRow { agents_ever, active_agents, operator_keys, bound_keys }
    }

    pub(super) fn into_counts(self) -> Counts {
        let CountsRow { agents_ever, active_agents, operator_keys, bound_keys } = self;
        Counts { agents_ever, active_agents, operator_keys, bound_keys }
    }
}

/// See [`Key`]. Its `Debug` leaves out the digest: that of a secret does not belong in a log.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct KeyRow {
    workspace: WorkspaceNo,
    pub(super) digest: [u8; 32],
    scope: Scope,
    agents: Vec<String>,
    label: String,
    created_at: Timestamp,
    revoked_at: Option<Timestamp>,
}
impl Row for KeyRow {}

impl fmt::Debug for KeyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyRow { workspace, digest: _, scope, agents, label, created_at, revoked_at } = self;
        f.debug_struct("KeyRow")
            .field("workspace", workspace)
            .field("scope", scope)
            .field("agents", agents)
            .field("label", label)
            .field("created_at", created_at)
            .field("revoked_at", revoked_at)
            .finish_non_exhaustive()
    }
}

impl KeyRow {
    pub(super) fn of(key: &Key, digest: [u8; 32]) -> KeyRow {
        KeyRow {
            workspace: key.workspace,
            digest,
            scope: key.scope,
            agents: key.agents.clone(),
            label: key.label.clone(),
            created_at: key.created_at,
            revoked_at: key.revoked_at,
        }
    }

    pub(super) fn into_key(self, id: String) -> Key {
        Key {
            id,
            workspace: self.workspace,
            scope: self.scope,
            agents: self.agents,
            label: self.label,
            created_at: self.created_at,
            revoked_at: self.revoked_at,
        }
    }
}

/// See [`Agent`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct AgentRow {
    id: [u8; 16],
    name: String,
    role: Option<String>,
    session_key: Option<String>,
    device_hash: Option<String>,
    repo_fingerprint: Option<String>,
    capabilities: Vec<String>,
    labels: Vec<(String, String)>,
    persona: Option<String>,
    is_unlisted: bool,
    is_ephemeral: bool,
    created_at: Timestamp,
    retired_at: Option<Timestamp>,
    idle_look_at: Option<Timestamp>,
}
impl Row for AgentRow {}

impl AgentRow {
    pub(super) fn of(agent: &Agent) -> AgentRow {
        AgentRow {
            id: agent.id.into_bytes(),
            name: agent.name.clone(),
            role: agent.role.clone(),
            session_key: agent.session_key.clone(),
            device_hash: agent.device_hash.clone(),
            repo_fingerprint: agent.repo_fingerprint.clone(),
            capabilities: agent.capabilities.clone(),
            labels: agent.labels.clone(),
            persona: agent.persona.clone(),
            is_unlisted: agent.is_unlisted,
            is_ephemeral: agent.is_ephemeral,
            created_at: agent.created_at,
            retired_at: agent.retired_at,
            idle_look_at: agent.idle_look_at,
        }
    }

    pub(super) fn into_agent(self) -> Agent {
        Agent {
            id: Uuid::from_bytes(self.id),
            name: self.name,
            role: self.role,
            session_key: self.session_key,
            device_hash: self.device_hash,
            repo_fingerprint: self.repo_fingerprint,
            capabilities: self.capabilities,
            labels: self.labels,
            persona: self.persona,
            is_unlisted: self.is_unlisted,
            is_ephemeral: self.is_ephemeral,
            created_at: self.created_at,
            retired_at: self.retired_at,
            idle_look_at: self.idle_look_at,
        }
    }
}

/// See [`Mailbox`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct MailboxRow {
    name: String,
    is_retired: bool,
    is_unlisted: bool,
    availability: Availability,
    until: Option<Timestamp>,
    reason: Option<String>,
    hold_below: Priority,
    last_seq: u64,
    unread_from: u64,
    unread_count: u64,
    held_count: u32,
    last_held: u64,
    last_sent: u64,
}
impl Row for MailboxRow {}

impl MailboxRow {
    pub(super) fn of(mailbox: &Mailbox) -> MailboxRow {
        let standing = mailbox.standing.clone();
        MailboxRow {
            name: mailbox.name.clone(),
            is_retired: mailbox.is_retired,
            is_unlisted: mailbox.is_unlisted,
            availability: standing.availability,
            until: standing.until,
            reason: standing.reason,
            hold_below: standing.hold_below,
            last_seq: mailbox.last_seq,
            unread_from: mailbox.unread_from,
            unread_count: mailbox.unread_count,
            held_count: mailbox.held_count,
            last_held: mailbox.last_held,
            last_sent: mailbox.last_sent,
        }
    }

    pub(super) fn into_mailbox(self) -> Mailbox {
        let standing = Standing {
            availability: self.availability,
            until: self.until,
            reason: self.reason,
            hold_below: self.hold_below,
        };
        Mailbox {
            name: self.name,
            is_retired: self.is_retired,
            is_unlisted: self.is_unlisted,
            standing,
            last_seq: self.last_seq,
            unread_from: self.unread_from,
            unread_count: self.unread_count,
            held_count: self.held_count,
            last_held: self.last_held,
            last_sent: self.last_sent,
        }
    }
}
