//! Everything localization stores.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0301 | workspaces | tenant, id | slug, name, short id |
//! | 0x0302 | workspace slugs | tenant, slug | the workspace's id; makes slugs unique |
//! | 0x0303 | projects | tenant, id | everything of a project but its target locales |
//! | 0x0304 | project slugs | tenant, workspace, slug | the project's id; makes slugs unique in a workspace |
//! | 0x0305 | short ids | tenant, short id | what it stands for; never reused |
//! | 0x0306 | project locales | tenant, project | the set of target locales, with its version |
//! | 0x0310 | audit events | tenant, number | the chain |
//! | 0x0311 | audit heads (hot) | tenant | number and hash of the last event |
//! | 0x0318 | grants | tenant, id | who was granted which template, and what it expanded to |
//! | 0x0319 | grants by principal | tenant, principal, id | an index |
//!
//! Ids are unique across tenants, but every key begins with the tenant: what is another tenant's cannot be found.

use bincode::{Decode, Encode};
use quintet_storage::{Family, Row, Table, TableSpec, Timestamp, Uuid};

use crate::model::{GrantId, ProjectId, StoredLocale, TenantId, WorkspaceId};

/// Workspaces.
pub const WORKSPACES: Table<(TenantId, WorkspaceId), WorkspaceRow> =
    Table::new(0x0301, Family::Localization, "localization_workspaces");
/// Slugs of workspaces.
pub const WORKSPACE_SLUGS: Table<(TenantId, String), WorkspaceSlugRow> =
    Table::new(0x0302, Family::Localization, "localization_workspace_slugs");
/// Projects.
pub const PROJECTS: Table<(TenantId, ProjectId), ProjectRow> =
    Table::new(0x0303, Family::Localization, "localization_projects");
/// Slugs of projects.
pub const PROJECT_SLUGS: Table<(TenantId, WorkspaceId, String), ProjectSlugRow> =
    Table::new(0x0304, Family::Localization, "localization_project_slugs");
/// Short ids.
pub const SHORT_IDS: Table<(TenantId, String), ShortIdRow> =
    Table::new(0x0305, Family::Localization, "localization_short_ids");
/// Target locales of projects.
pub const PROJECT_LOCALES: Table<(TenantId, ProjectId), ProjectLocalesRow> =
    Table::new(0x0306, Family::Localization, "localization_project_locales");
/// The audit chain of each tenant.
pub const AUDIT_EVENTS: Table<(TenantId, u64), AuditEventRow> =
    Table::new(0x0310, Family::Localization, "localization_audit_events");
/// Where each tenant's chain ends.
pub const AUDIT_HEADS: Table<TenantId, AuditHeadRow> =
    Table::new(0x0311, Family::Localization, "localization_audit_heads").hot();
/// Grants.
pub const GRANTS: Table<(TenantId, GrantId), GrantRow> = Table::new(0x0318, Family::Localization, "localization_grants");
/// Grants of a principal.
pub const GRANTS_BY_PRINCIPAL: Table<(TenantId, Uuid, GrantId), Mark> =
    Table::new(0x0319, Family::Localization, "localization_grants_by_principal");

/// Every table of this package. Their tags lie in 0x0300 to 0x03FF.
pub const TABLES: &[TableSpec] = &[
    WORKSPACES.spec(),
    WORKSPACE_SLUGS.spec(),
    PROJECTS.spec(),
    PROJECT_SLUGS.spec(),
    SHORT_IDS.spec(),
    PROJECT_LOCALES.spec(),
    AUDIT_EVENTS.spec(),
    AUDIT_HEADS.spec(),
    GRANTS.spec(),
    GRANTS_BY_PRINCIPAL.spec(),
];

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Mark;
impl Row for Mark {}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WorkspaceRow {
    /// What stands for it in permissions.
    pub short_id: String,
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// When it was created.
    pub created_at: Timestamp,
}
impl Row for WorkspaceRow {}

/// A workspace's slug.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WorkspaceSlugRow {
    /// Whose it is.
    pub workspace_id: WorkspaceId,
}
impl Row for WorkspaceSlugRow {}

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ProjectRow {
    /// The workspace it lies in, for good.
    pub workspace_id: WorkspaceId,
    /// What stands for it in permissions.
    pub short_id: String,
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Its source locale.
    pub source_locale: StoredLocale,
    /// How often the source locale was set, the first time not counted.
    pub source_version: u64,
    /// Prefixes of key names whose translations no approval request batches.
    pub legal_prefixes: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
}
impl Row for ProjectRow {}

/// A project's slug.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ProjectSlugRow {
    /// Whose it is.
    pub project_id: ProjectId,
}
impl Row for ProjectSlugRow {}

/// What a short id stands for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ShortIdRow {
    /// A workspace.
    Workspace(WorkspaceId),
    /// A project.
    Project(ProjectId),
}
impl Row for ShortIdRow {}

/// The target locales of a project; without a row they are none, at version 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProjectLocalesRow {
    /// How often they were set.
    pub version: u64,
    /// In the order of their identity keys.
    pub locales: Vec<StoredLocale>,
}
impl Row for ProjectLocalesRow {}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ActorKind {
    /// The appliance or its operator.
    System,
    /// A person.
    Member,
    /// A program.
    ServiceAccount,
}

/// An event of the audit chain.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditEventRow {
    /// Its id.
    pub event_id: [u8; 16],
    /// When it happened.
    pub occurred_at: Timestamp,
    /// What kind of actor it was.
    pub actor_kind: ActorKind,
    /// Who it was.
    pub actor_id: [u8; 16],
    /// What was done.
    pub action: String,
    /// To what kind of thing.
    pub target_type: String,
    /// To which.
    pub target_id: String,
    /// What belongs to the action: canonical JSON of an object; empty: nothing.
    pub payload: String,
    /// The request it came with; empty: none.
    pub request_id: String,
    /// The hash of the event before it; zeros for the first.
    pub prev_hash: [u8; 32],
    /// Its own.
    pub hash: [u8; 32],
}
impl Row for AuditEventRow {}

/// The end of a tenant's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditHeadRow {
    /// The number of the last event; the first is 1.
    pub seq: u64,
    /// Its hash.
    pub hash: [u8; 32],
}
impl Row for AuditHeadRow {}

/// How far a grant, or one intent of it, has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum IntentState {
    /// The authorization system has not taken it yet.
    Granting,
    /// It holds.
    Granted,
    /// The authorization system has not removed it yet.
    Revoking,
    /// It holds no more.
    Revoked,
}

/// One intent of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct IntentRow {
    /// Where it holds, as text.
    pub target: String,
    /// What it confers, as texts.
    pub permissions: Vec<String>,
    /// How far it has come.
    pub state: IntentState,
}

/// The scope of a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ScopeRow {
    /// A workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// A project.
    pub project_id: Option<ProjectId>,
    /// A canonical tag.
    pub locale: Option<String>,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GrantRow {
    /// To whom.
    pub principal: [u8; 16],
    /// Which template.
    pub template: String,
    /// Within which scope.
    pub scope: ScopeRow,
    /// What it expanded to.
    pub intents: Vec<IntentRow>,
    /// When.
    pub created_at: Timestamp,
}
impl Row for GrantRow {}
