//! Projects: create, read, list, patch.

use std::collections::HashMap;

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{GivenLocale, Project, ProjectId, WorkspaceId};
use super::short_ids::take_short_id;
use super::tables::{PROJECT_SLUGS, PROJECTS, ProjectRow, ProjectSlugRow, ShortIdRow, WORKSPACES};
use super::workspaces::get_workspace;
use crate::audit::{self, Actor, Event};
use crate::census;
use crate::model::TenantId;
use crate::refusal::Refusal;

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
    let workspace = get_workspace(tx, tenant_id, command.workspace_id)?;
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
    Ok(row.into_project(project_id, workspace.short_id))
}

/// One project.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_project(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Project, Abort<Refusal>> {
    let row = read.get(&PROJECTS, &(tenant_id, project_id))?.ok_or(Refusal::NotFound)?;
    let workspace_short_id = short_id_of(read, tenant_id, project_id, row.workspace_id)?;
    Ok(row.into_project(project_id, workspace_short_id))
}

/// The short id of a project's workspace.
fn short_id_of(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    workspace_id: WorkspaceId,
) -> Result<String, Failure> {
    let workspace = read.get(&WORKSPACES, &(tenant_id, workspace_id))?;
    let workspace = workspace.ok_or_else(|| Failure::Damaged(format!("project {} has no workspace", project_id.0)))?;
    Ok(workspace.short_id)
}

/// Rows read at a time: a project may have 40 KB of legal prefixes.
const ROWS_AT_A_TIME: usize = 50;

/// Looks at the tenant's projects behind `after`, oldest first, for as long as `look` says so. Whether it came to the
/// end.
///
/// # Errors
/// Only the store's.
pub fn each_project(
    read: &impl Read,
    tenant_id: TenantId,
    mut after: Option<ProjectId>,
    mut look: impl FnMut(Project) -> bool,
) -> Result<bool, Failure> {
    let mut short_ids: HashMap<WorkspaceId, String> = HashMap::new();
    loop {
        let mut scan = Scan::prefix(&(tenant_id,)).limit(ROWS_AT_A_TIME);
        if let Some(after) = after {
            scan = scan.after(&(tenant_id, after));
        }
        let rows = read.scan(&PROJECTS, scan)?;
        let is_last = rows.len() < ROWS_AT_A_TIME;
        for ((_, project_id), row) in rows {
            after = Some(project_id);
            let workspace_id = row.workspace_id;
            let short_id = match short_ids.get(&workspace_id) {
                Some(known) => known.clone(),
                None => {
                    let short_id = short_id_of(read, tenant_id, project_id, workspace_id)?;
                    short_ids.insert(workspace_id, short_id.clone());
                    short_id
                }
            };
            if !look(row.into_project(project_id, short_id)) {
                return Ok(false);
            }
        }
        if is_last {
            return Ok(true);
        }
    }
}

/// How many projects a page looks at, whether the caller may see them or not.
const PAGE_LOOKS_MAX: usize = 2000;
/// How many bytes of legal prefixes a page looks at, and shows; the last project may go beyond.
const PAGE_LOOKED_BYTES_MAX: usize = 8 << 20;
/// See [`PAGE_LOOKED_BYTES_MAX`].
const PAGE_SHOWN_BYTES_MAX: usize = 1 << 20;

/// A page of projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectPage {
    /// At most as many as were asked for.
    pub projects: Vec<Project>,
    /// Behind which to go on, if there may be more.
    pub next: Option<ProjectId>,
}

/// Those of the projects behind `after` that the caller may see, oldest first. A page ends early, and may then be empty,
/// once it has looked at 2,000 projects or its projects have about 1 MiB of legal prefixes.
///
/// # Errors
/// Only the store's.
pub fn list_projects(
    read: &impl Read,
    tenant_id: TenantId,
    after: Option<ProjectId>,
    limit: usize,
    may_see: impl Fn(&Project) -> bool,
) -> Result<ProjectPage, Failure> {
    let mut page = ProjectPage::default();
    let (mut looks, mut looked_bytes, mut shown_bytes) = (0, 0, 0);
    let mut last = None;
    let is_end = each_project(read, tenant_id, after, |project| {
        // One more than fits: only then it is known that there is another page.
        if page.projects.len() == limit
            || looks == PAGE_LOOKS_MAX
            || looked_bytes >= PAGE_LOOKED_BYTES_MAX
            || shown_bytes >= PAGE_SHOWN_BYTES_MAX
        {
            return false;
        }
        let bytes = project.prefix_bytes();
        last = Some(project.project_id);
        looks += 1;
        looked_bytes += bytes;
        if may_see(&project) {
            shown_bytes += bytes;
            page.projects.push(project);
        }
        true
    })?;
    page.next = last.filter(|_| !is_end);
    Ok(page)
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
    let (tenant_id, project_id) = (actor.tenant_id, command.project_id);
    let mut row = tx.get(&PROJECTS, &(tenant_id, project_id))?.ok_or(Refusal::NotFound)?;
    let changes_name = command.name.is_some();
    let prefixes = command.legal_prefixes.as_ref().map(Vec::len);
    if let Some(name) = command.name {
        row.name = name;
    }
    if let Some(legal_prefixes) = command.legal_prefixes {
        row.legal_prefixes = legal_prefixes;
        census::note(tx, now, tenant_id, project_id, census::Change::Classes)?;
    }
    tx.put(&PROJECTS, &(tenant_id, project_id), &row)?;
    let event = Event::about("project.update", "project", project_id.0).with([
        ("name", Json::from(changes_name)),
        // How many; what they say is in the project.
        ("legal_prefixes", Json::from(prefixes)),
    ]);
    audit::record(tx, now, actor, event)?;
    get_project(tx, tenant_id, project_id)
}
