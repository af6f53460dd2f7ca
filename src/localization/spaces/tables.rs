//! The rows of workspaces, projects and their locales.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0301 | workspaces | tenant, id | slug, name, short id |
//! | 0x0302 | workspace slugs | tenant, slug | the workspace's id; makes slugs unique |
//! | 0x0303 | projects | tenant, id | everything of a project but its target locales |
//! | 0x0304 | project slugs | tenant, workspace, slug | the project's id; makes slugs unique in a workspace |
//! | 0x0305 | short ids | tenant, short id | what it stands for; never reused |
//! | 0x0306 | project locales | tenant, project | the set of target locales, with its version |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp};

use super::model::{Project, ProjectId, ProjectLocales, SourceLocale, StoredLocale, Workspace, WorkspaceId};
use crate::model::{FAMILY, TenantId};
use crate::principals::{AccountId, MemberId};

/// Workspaces.
pub const WORKSPACES: Table<(TenantId, WorkspaceId), WorkspaceRow> =
    Table::new(0x0301, FAMILY, "localization_workspaces");
/// Slugs of workspaces.
pub const WORKSPACE_SLUGS: Table<(TenantId, String), WorkspaceSlugRow> =
    Table::new(0x0302, FAMILY, "localization_workspace_slugs");
/// Projects.
pub const PROJECTS: Table<(TenantId, ProjectId), ProjectRow> = Table::new(0x0303, FAMILY, "localization_projects");
/// Slugs of projects.
pub const PROJECT_SLUGS: Table<(TenantId, WorkspaceId, String), ProjectSlugRow> =
    Table::new(0x0304, FAMILY, "localization_project_slugs");
/// Short ids.
pub const SHORT_IDS: Table<(TenantId, String), ShortIdRow> = Table::new(0x0305, FAMILY, "localization_short_ids");
/// Target locales of projects.
pub const PROJECT_LOCALES: Table<(TenantId, ProjectId), ProjectLocalesRow> =
    Table::new(0x0306, FAMILY, "localization_project_locales");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    WORKSPACES.spec(),
    WORKSPACE_SLUGS.spec(),
    PROJECTS.spec(),
    PROJECT_SLUGS.spec(),
    SHORT_IDS.spec(),
    PROJECT_LOCALES.spec(),
];

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

impl WorkspaceRow {
    /// The workspace of the id.
    pub fn into_workspace(self, workspace_id: WorkspaceId) -> Workspace {
        let WorkspaceRow { short_id, slug, name, created_at } = self;
        Workspace { workspace_id, short_id, slug, name, created_at }
    }
}

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
    /// How that may be written as the root key of a rails file: as it was given, its canonical tag, its content form;
    /// each once.
    pub source_roots: Vec<String>,
    /// How often the source locale was set, the first time not counted.
    pub source_version: u64,
    /// Prefixes of key names whose translations no approval request batches.
    pub legal_prefixes: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
}
impl Row for ProjectRow {}

impl ProjectRow {
    /// The project of the id, in a workspace with that short id.
    pub fn into_project(self, project_id: ProjectId, workspace_short_id: String) -> Project {
        Project {
            project_id,
            short_id: self.short_id,
            workspace_id: self.workspace_id,
            workspace_short_id,
            slug: self.slug,
            name: self.name,
            source: SourceLocale { locale: self.source_locale, roots: self.source_roots, version: self.source_version },
            legal_prefixes: self.legal_prefixes,
            created_at: self.created_at,
        }
    }
}

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
    /// A member.
    Member(MemberId),
    /// A service account.
    Account(AccountId),
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

impl ProjectLocalesRow {
    /// The target locales.
    pub fn into_locales(self) -> ProjectLocales {
        ProjectLocales { version: self.version, locales: self.locales }
    }
}
