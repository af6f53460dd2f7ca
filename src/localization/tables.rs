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
//! | 0x0320 | files | tenant, project, file | what a file is, and its latest version |
//! | 0x0321 | file paths | tenant, project, path | the file's id; makes paths unique |
//! | 0x0322 | file versions | tenant, file, version | the original bytes (sealed) and where they came from |
//! | 0x0323 | key files | tenant, prefix of key ids | the file whose keys have ids with this prefix |
//! | 0x0324 | key files by project | tenant, project, prefix | an index, in the order of key ids |
//! | 0x0325 | catalogues | tenant, file | the keys of the latest version (sealed), and where in it which lie |
//! | 0x0326 | imports | tenant, file, number of the audit event | what an upload changed (sealed) |
//! | 0x0327 | key contexts | tenant, file | what translators are told of its keys (sealed) |
//! | 0x0330 | translations | tenant, file, locale, key | the translation of a key |
//! | 0x0331 | file locales (hot) | tenant, file, locale | how often a file's translations were changed |
//!
//! **Keys are not rows.** A file may have 200,000 of them, and every upload reads them all: they lie in a *catalogue*, one
//! large value for each version, written in chunks that nobody sees, and published by the one small transaction that
//! also writes the version, the audit event and the answer. Nothing of an upload can be seen before, or half. A key's
//! id is the prefix of its file and its number in it: the catalogue's pages are in the order of ids, and one key is read
//! by reading one page. Ids stay, whatever comes and goes: a key that is gone stays in the catalogue as obsolete.
//!
//! **Key context is not rows, either**, for the same reasons: one request may set 12 MB of it at once.
//!
//! **Outdated is derived.** A key remembers in which version its source last changed, a translation from which version it
//! was made: no upload rewrites a translation.
//!
//! Ids are unique across tenants, but every key begins with the tenant: what is another tenant's cannot be found.

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use quintet_storage::large::LargeValue;

use crate::FAMILY;
use crate::model::{FileId, FileVersion, GrantId, ProjectId, StoredLocale, TenantId, WorkspaceId};

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
/// The audit chain of each tenant.
pub const AUDIT_EVENTS: Table<(TenantId, u64), AuditEventRow> = Table::new(0x0310, FAMILY, "localization_audit_events");
/// Where each tenant's chain ends.
pub const AUDIT_HEADS: Table<TenantId, AuditHeadRow> = Table::new(0x0311, FAMILY, "localization_audit_heads").hot();
/// Grants.
pub const GRANTS: Table<(TenantId, GrantId), GrantRow> = Table::new(0x0318, FAMILY, "localization_grants");
/// Grants of a principal.
pub const GRANTS_BY_PRINCIPAL: Table<(TenantId, Uuid, GrantId), Mark> =
    Table::new(0x0319, FAMILY, "localization_grants_by_principal");
/// Files.
pub const FILES: Table<(TenantId, ProjectId, FileId), FileRow> = Table::new(0x0320, FAMILY, "localization_files");
/// Paths of files.
pub const FILE_PATHS: Table<(TenantId, ProjectId, String), FilePathRow> =
    Table::new(0x0321, FAMILY, "localization_file_paths");
/// Versions of files.
pub const FILE_VERSIONS: Table<(TenantId, FileId, FileVersion), FileVersionRow> =
    Table::new(0x0322, FAMILY, "localization_file_versions");
/// Which file's keys have which ids.
pub const KEY_FILES: Table<(TenantId, u64), KeyFileRow> = Table::new(0x0323, FAMILY, "localization_key_files");
/// The same for a project, in the order of ids.
pub const KEY_FILES_BY_PROJECT: Table<(TenantId, ProjectId, u64), KeyFileRow> =
    Table::new(0x0324, FAMILY, "localization_key_files_by_project");
/// Keys of the latest versions.
pub const CATALOGUES: Table<(TenantId, FileId), CatalogueRow> = Table::new(0x0325, FAMILY, "localization_catalogues");
/// What uploads changed.
pub const IMPORTS: Table<(TenantId, FileId, u64), ImportRow> = Table::new(0x0326, FAMILY, "localization_imports");
/// What translators are told of the keys of files.
pub const KEY_CONTEXTS: Table<(TenantId, FileId), KeyContextsRow> =
    Table::new(0x0327, FAMILY, "localization_key_contexts");
/// Translations.
pub const TRANSLATIONS: Table<(TenantId, FileId, String, u64), TranslationRow> =
    Table::new(0x0330, FAMILY, "localization_translations");
/// How often a file's translations into a locale were changed.
pub const FILE_LOCALES: Table<(TenantId, FileId, String), FileLocaleRow> =
    Table::new(0x0331, FAMILY, "localization_file_locales").hot();

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
    FILES.spec(),
    FILE_PATHS.spec(),
    FILE_VERSIONS.spec(),
    KEY_FILES.spec(),
    KEY_FILES_BY_PROJECT.spec(),
    CATALOGUES.spec(),
    IMPORTS.spec(),
    KEY_CONTEXTS.spec(),
    TRANSLATIONS.spec(),
    FILE_LOCALES.spec(),
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

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML below a root key.
    YamlRails,
    /// YAML without a root key.
    YamlFlat,
    /// Java properties.
    Properties,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FileRow {
    /// Where it lies in the project.
    pub path: String,
    /// What kind of file it is, for good.
    pub format: Format,
    /// The root key of a rails file, for good; else empty.
    pub root_locale: String,
    /// Its latest version, from 1.
    pub version: FileVersion,
    /// What its keys' ids begin with.
    pub key_prefix: u64,
    /// SHA-256 of the latest version's bytes.
    pub sha256: [u8; 32],
    /// How many bytes those are.
    pub size_bytes: u64,
    /// How many active keys it has.
    pub keys: u32,
    /// When it was first uploaded.
    pub created_at: Timestamp,
    /// When it was last uploaded.
    pub updated_at: Timestamp,
}
impl Row for FileRow {}

/// A file's path.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FilePathRow {
    /// Whose it is.
    pub file_id: FileId,
}
impl Row for FilePathRow {}

/// A version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FileVersionRow {
    /// The bytes as they came, sealed for the tenant.
    pub original: LargeValue,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
    /// Active keys.
    pub keys: u32,
    /// When it was uploaded.
    pub imported_at: Timestamp,
    /// By whom.
    pub imported_by: [u8; 16],
    /// The number of its audit event.
    pub audit_seq: u64,
}
impl Row for FileVersionRow {}

/// Whose keys have ids with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyFileRow {
    /// In which project.
    pub project_id: ProjectId,
    /// Which file.
    pub file_id: FileId,
}
impl Row for KeyFileRow {}

/// The keys of a file's latest version.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CatalogueRow {
    /// The version it is of.
    pub version: FileVersion,
    /// Its pages, one after another, sealed for the tenant.
    pub value: LargeValue,
    /// Where they lie, in the order of the keys' numbers.
    pub pages: Vec<PageRow>,
    /// The number the next new key gets.
    pub next_number: u64,
}
impl Row for CatalogueRow {}

/// A page of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PageRow {
    /// The number of its first key.
    pub first: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
}

/// What an upload changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ImportRow {
    /// The version it made.
    pub version: FileVersion,
    /// The changes, sealed for the tenant; the interface's lines are made of them.
    pub changes: LargeValue,
    /// SHA-256 of the interface's lines.
    pub manifest_sha256: [u8; 32],
}
impl Row for ImportRow {}

/// Which kind of text a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum KeyClass {
    /// Ordinary text.
    Prose,
    /// A claim.
    Claim,
    /// A legal text.
    Legal,
}

/// What translators are told of a file's keys.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyContextsRow {
    /// How often it was set, from 1.
    pub version: u64,
    /// Every path and what is told of it, in the order of paths, sealed for the tenant.
    pub value: LargeValue,
}
impl Row for KeyContextsRow {}

/// A path of a file and what translators are told of the key there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyContext {
    /// The path.
    pub path: String,
    /// Which kind of text it holds.
    pub class: Option<KeyClass>,
    /// What it is about.
    pub context: Option<String>,
    /// The fewest characters of a translation.
    pub min_length: Option<u32>,
    /// The most.
    pub max_length: Option<u32>,
}

/// The review state of a translation as it is stored; whether it is outdated is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ReviewState {
    /// Written.
    Draft,
    /// Somebody must look at it.
    NeedsAttention,
    /// Reviewed.
    Reviewed,
    /// Approved.
    Approved,
}

/// Who wrote a translation's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Wording {
    /// The AI engine.
    Ai,
    /// A person or program, with PUT.
    Human,
    /// An import of translations.
    Import,
}

/// What a translation says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Translated {
    /// One text.
    Text {
        /// The text.
        text: String,
        /// SHA-256 of the source it was made from.
        source_sha256: [u8; 32],
    },
    /// The forms of a plural, in CLDR's order.
    Forms(Vec<TranslatedForm>),
}

impl Translated {
    /// How many bytes its texts have together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Translated::Text { text, .. } => text.len(),
            Translated::Forms(forms) => forms.iter().map(|form| form.text.len()).sum(),
        }
    }
}

/// One form of a translated plural.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TranslatedForm {
    /// Its place in CLDR's order, from 0 (`zero`) to 5 (`other`).
    pub category: u8,
    /// The text.
    pub text: String,
    /// SHA-256 of the source form it was made from.
    pub source_sha256: [u8; 32],
}

/// The translation of a key.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TranslationRow {
    /// How often its text was written.
    pub revision: u64,
    /// Its review state.
    pub state: ReviewState,
    /// The version of the file in which the source it was made from came up.
    pub source_version: FileVersion,
    /// What it says.
    pub content: Translated,
    /// Who wrote it.
    pub origin: Option<Wording>,
    /// Who changed it last.
    pub updated_by: [u8; 16],
    /// When.
    pub updated_at: Timestamp,
    /// Who approved it, and when, as long as it is approved.
    pub approved: Option<ApprovalRow>,
}
impl Row for TranslationRow {}

/// An approval.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ApprovalRow {
    /// When.
    pub at: Timestamp,
    /// By which principal.
    pub by: [u8; 16],
}

/// How often a file's translations into a locale were changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct FileLocaleRow {
    /// Every writing, transition, settlement and outdating counts one.
    pub changes: u64,
    /// How many translations there are.
    pub translations: u64,
}
impl Row for FileLocaleRow {}
