//! Projects: create, read, list, patch; and where a project lies, for permissions.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::locales::GivenLocale;
use crate::model::{ProjectId, TenantId, WorkspaceId};
use crate::permissions::{Granted, ProjectPlace, Wanted};
use crate::refusal::Refusal;
use crate::tables::{PROJECT_SLUGS, PROJECTS, ProjectRow, ProjectSlugRow, ShortIdRow, WORKSPACES};
use crate::workspaces::{list_workspaces, take_short_id};

/// Creates a project.
#[derive(Clone, Debug)]
pub struct CreateProject {
    /// In which workspace.
    pub workspace_id: WorkspaceId,
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Its source locale.
    pub source_locale: GivenLocale,
}

/// Changes a project; what is absent stays.
#[derive(Clone, Debug)]
pub struct PatchProject {
    /// Which.
    pub project_id: ProjectId,
    /// Its new name.
    pub name: Option<String>,
    /// Its new legal prefixes.
    pub legal_prefixes: Option<Vec<String>>,
}

/// A project as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub project_id: ProjectId,
    /// The short id of its workspace.
    pub workspace_short_id: String,
    /// Everything else.
    pub row: ProjectRow,
}

impl Project {
    /// Where it lies, for permissions.
    #[must_use]
    pub fn place(&self) -> ProjectPlace<'_> {
        ProjectPlace { workspace: &self.workspace_short_id, project: &self.row.short_id }
    }
}

/// Creates a project.
///
/// # Errors
/// [`Refusal::NotFound`] for a workspace that is not the tenant's, [`Refusal::Conflict`] if the workspace has the slug
/// already.
pub fn create_project(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: CreateProject,
) -> Result<Project, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let workspace = tx.get(&WORKSPACES, &(tenant_id, command.workspace_id))?.ok_or(Refusal::NotFound)?;
    let by_slug = (tenant_id, command.workspace_id, command.slug);
    if tx.contains(&PROJECT_SLUGS, &by_slug)? {
        return Err(Refusal::Conflict("a project with this slug exists in the workspace").into());
    }
    let project_id = ProjectId(tx.new_id());
    let short_id = take_short_id(tx, tenant_id, project_id.0, &ShortIdRow::Project(project_id))?;
    tx.put(&PROJECT_SLUGS, &by_slug, &ProjectSlugRow { project_id })?;
    let row = ProjectRow {
        workspace_id: command.workspace_id,
        short_id,
        slug: by_slug.2,
        name: command.name,
        source_locale: command.source_locale.stored,
        source_roots: command.source_locale.roots,
        source_version: 0,
        legal_prefixes: Vec::new(),
        created_at: now,
    };
    tx.put(&PROJECTS, &(tenant_id, project_id), &row)?;
    let event = Event::about("project.create", "project", project_id.0).with([
        ("workspace_id", Json::from(command.workspace_id.0.to_string())),
        ("source_locale", Json::from(row.source_locale.tag.as_str())),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(Project { project_id, workspace_short_id: workspace.short_id, row })
}

/// One project.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_project(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Project, Abort<Refusal>> {
    let row = read.get(&PROJECTS, &(tenant_id, project_id))?.ok_or(Refusal::NotFound)?;
    Ok(with_workspace(read, tenant_id, project_id, row)?)
}

fn with_workspace(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    row: ProjectRow,
) -> Result<Project, Failure> {
    let workspace = read.get(&WORKSPACES, &(tenant_id, row.workspace_id))?;
    let workspace = workspace.ok_or_else(|| Failure::Damaged(format!("project {} has no workspace", project_id.0)))?;
    Ok(Project { project_id, workspace_short_id: workspace.short_id, row })
}

/// Rows looked at at a time by those who look for what they may read.
const PAGE_ROWS: usize = 500;

/// Looks at the tenant's projects behind `after`, oldest first, for as long as `look` says so.
fn each_project(
    read: &impl Read,
    tenant_id: TenantId,
    mut after: Option<ProjectId>,
    mut look: impl FnMut(Project) -> bool,
) -> Result<(), Failure> {
    loop {
        let mut scan = Scan::prefix(&(tenant_id,)).limit(PAGE_ROWS);
        if let Some(after) = after {
            scan = scan.after(&(tenant_id, after));
        }
        let rows = read.scan(&PROJECTS, scan)?;
        let is_last = rows.len() < PAGE_ROWS;
        for ((_, project_id), row) in rows {
            after = Some(project_id);
            if !look(with_workspace(read, tenant_id, project_id, row)?) {
                return Ok(());
            }
        }
        if is_last {
            return Ok(());
        }
    }
}

/// The projects the caller may read behind `after`, oldest first; and whether there are more.
///
/// # Errors
/// Only the store's.
pub fn list_projects(
    read: &impl Read,
    tenant_id: TenantId,
    granted: &Granted,
    after: Option<ProjectId>,
    limit: usize,
) -> Result<(Vec<Project>, bool), Failure> {
    let mut found = Vec::new();
    each_project(read, tenant_id, after, |project| {
        if granted.may_read(project.place()) {
            found.push(project);
        }
        found.len() <= limit
    })?;
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}

/// Changes a project.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn patch_project(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: PatchProject,
) -> Result<Project, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let mut project = get_project(tx, tenant_id, command.project_id)?;
    let changes_name = command.name.is_some();
    let prefixes = command.legal_prefixes.as_ref().map(Vec::len);
    if let Some(name) = command.name {
        project.row.name = name;
    }
    if let Some(legal_prefixes) = command.legal_prefixes {
        project.row.legal_prefixes = legal_prefixes;
    }
    tx.put(&PROJECTS, &(tenant_id, command.project_id), &project.row)?;
    let event = Event::about("project.update", "project", command.project_id.0).with([
        ("name", Json::from(changes_name)),
        // How many; what they say is in the project.
        ("legal_prefixes", Json::from(prefixes)),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(project)
}

/// Every permission that holds now, each project and workspace by its own short id: sorted, each once.
///
/// # Errors
/// Only the store's.
pub fn effective_permissions(read: &impl Read, tenant_id: TenantId, granted: &Granted) -> Result<Vec<String>, Failure> {
    let mut texts = granted.org_texts();
    let (mut after, mut more) = (None, true);
    while more {
        let (page, goes_on) = list_workspaces(read, tenant_id, after, PAGE_ROWS)?;
        for workspace in &page {
            if granted.covers(Wanted::WorkspaceAdmin(&workspace.row.short_id)) {
                texts.push(format!("ws_{}_admin", workspace.row.short_id));
            }
        }
        (after, more) = (page.last().map(|last| last.workspace_id), goes_on);
    }
    each_project(read, tenant_id, None, |project| {
        texts.extend(granted.texts_in(project.place()));
        true
    })?;
    texts.sort_unstable();
    texts.dedup();
    Ok(texts)
}
