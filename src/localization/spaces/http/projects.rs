//! Projects: list, create, read, patch; and the project that a path names.

use quintet_platform::ids::parse_uuid;
use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, CURSOR, Content, Endpoint, Id, Instant, KeyRule, Route, Segment, Shape, json as success, next_cursor,
    refusal_of, written,
};
use quintet_storage::Failure;

use super::workspaces::read_slug;
use crate::access::{Action, Wanted, granted};
use crate::http::{Answered, Call, Form, LIMIT, LOCALE_CHARS_MAX, Localization, TAGGED, read};
use crate::refusal::Refusal;
use crate::spaces::locales::given_locale;
use crate::spaces::model::{
    LEGAL_PREFIX_CHARS_MAX, LEGAL_PREFIXES_MAX, NAME_CHARS_MAX, Project, ProjectId, WorkspaceId,
};
use crate::spaces::projects::{self, CreateProject, PatchProject, ProjectPage, get_project};
use crate::spaces::workspaces::get_workspace;

/// The project that a path names.
pub const PROJECT: Segment = Segment::new("project_id", Shape::Uuid);

const LIST: Route = Route::get("list_projects", "/v1/projects")
    .permission("authenticated")
    .summary("List the projects that the caller may read")
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "ProjectPage")])
    .codes(&["busy"]);
const CREATE: Route = Route::post("create_project", "/v1/projects")
    .permission("ws_<w>_admin")
    .summary("Create a project")
    .key(KeyRule::Optional)
    .body(Content::Json("ProjectCreate"))
    .successes(&[success(201, "Project")])
    .makes(PROJECT.noun, "id")
    .marks(&[TAGGED])
    .codes(&["conflict", "not_found"]);
const GET: Route = Route::get("get_project", "/v1/projects/{project_id}")
    .permission("p_<p>_read")
    .summary("One project")
    .segments(&[PROJECT])
    .successes(&[success(200, "Project")]);
const PATCH: Route = Route::patch("patch_project", "/v1/projects/{project_id}")
    .permission("p_<p>_manage")
    .summary("Rename it, set its legal prefixes")
    .segments(&[PROJECT])
    .key(KeyRule::Optional)
    .body(Content::Json("ProjectPatch"))
    .successes(&[success(200, "Project")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&GET, |call| Box::pin(get(call))),
    Endpoint::new(&PATCH, |call| Box::pin(patch(call))),
];

/// The project of the path, if the caller may do this in it.
///
/// # Errors
/// [`Refusal::NotFound`], then that the caller may not.
pub fn permitted(call: &Call, action: Action) -> Result<Project, Refusal> {
    let project_id = call.segment(PROJECT.name).map(ProjectId).ok_or(Refusal::NotFound)?;
    let read = call.snapshot();
    let project = get_project(&read, call.caller.tenant_id(), project_id).map_err(refusal_of)?;
    call.caller.demand(&read, Wanted::InProject(project.place(), action)).map_err(refusal_of)?;
    Ok(project)
}

async fn list(mut call: Call) -> Answered {
    const KIND: &str = "projects";
    let page = call.page::<ProjectId>(KIND, &LIMIT)?;
    let context = call.context.clone();
    let listed = context.aside(call.caller.tenant_id(), move |read| {
        let granted = granted(read, &call.caller.key)?;
        let may_see = |project: &Project| granted.may_read(project.place());
        let found = projects::list_projects(read, call.caller.tenant_id(), page.after, page.limit, may_see)?;
        Ok(Answer::json(200, write_page(&found, next_cursor(KIND, found.next.as_ref())?)?))
    });
    Ok(listed.await.map_err(refusal_of)?)
}

/// The permission is the workspace's, so that it comes after the workspace was found.
async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wanted = read_create(change.json()?)?;
    change.begin()?;
    let caller = &change.call.caller;
    let read = change.call.snapshot();
    let workspace = get_workspace(&read, caller.tenant_id(), wanted.workspace_id).map_err(refusal_of)?;
    caller.demand(&read, Wanted::WorkspaceAdmin(&workspace.short_id)).map_err(refusal_of)?;
    let NewProject { workspace_id, slug, name, source_locale } = wanted;
    let command = CreateProject { workspace_id, slug, name, source_locale: given_locale(&source_locale)? };
    let actor = caller.actor.clone();
    let made = change.write(move |tx, now| {
        let made = projects::create_project(tx, now, &actor, command)?;
        Ok(Answer::json(201, written(&of_project(&made))?))
    });
    made.await
}

async fn get(call: Call) -> Answered {
    let project = permitted(&call, Action::Read)?;
    call.answer(200, |_| Ok(written(&of_project(&project))?))
}

async fn patch(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wanted = read_patch(change.json()?)?;
    change.begin()?;
    let project_id = permitted(&change.call, Action::Manage)?.project_id;
    let WishedPatch { name, legal_prefixes } = wanted;
    let command = PatchProject { project_id, name, legal_prefixes };
    let actor = change.call.caller.actor.clone();
    let patched = change.write(move |tx, now| {
        let patched = projects::patch_project(tx, now, &actor, command)?;
        Ok(Answer::json(200, written(&of_project(&patched))?))
    });
    patched.await
}

/// ProjectCreate, its source locale still as it was written.
struct NewProject {
    workspace_id: WorkspaceId,
    slug: String,
    name: String,
    source_locale: String,
}

/// ProjectCreate.
fn read_create(json: Json) -> Result<NewProject, Refusal> {
    let mut form = Form::of_body(json)?;
    let workspace_id: Option<String> = form.required("workspace_id");
    let workspace_id = workspace_id.map(|text| parse_uuid(&text).map(WorkspaceId));
    if workspace_id == Some(None) {
        form.wrong("workspace_id", "must be a UUID");
    }
    let slug = read_slug(&mut form);
    let name = form.required_text("name", 0, NAME_CHARS_MAX);
    let source_locale = form.required_text("source_locale", 2, LOCALE_CHARS_MAX);
    form.finish()?;
    Ok(NewProject {
        workspace_id: read(workspace_id.flatten())?,
        slug: read(slug)?,
        name: read(name)?,
        source_locale: read(source_locale)?,
    })
}

/// ProjectPatch, whichever project it is for.
struct WishedPatch {
    name: Option<String>,
    legal_prefixes: Option<Vec<String>>,
}

/// ProjectPatch.
fn read_patch(json: Json) -> Result<WishedPatch, Refusal> {
    let mut form = Form::of_body(json)?;
    let name = form.optional_text("name", 0, NAME_CHARS_MAX);
    let legal_prefixes: Option<Vec<String>> = form.optional("legal_prefixes");
    if let Some(prefixes) = &legal_prefixes {
        let fits = |prefix: &String| (1..=LEGAL_PREFIX_CHARS_MAX).contains(&prefix.chars().count());
        if prefixes.len() > LEGAL_PREFIXES_MAX || !prefixes.iter().all(fits) {
            form.wrong("legal_prefixes", "has at most 50 items of 1 to 200 characters");
        }
    }
    form.finish()?;
    Ok(WishedPatch { name, legal_prefixes })
}

#[derive(serde::Serialize)]
struct ProjectBody<'a> {
    id: Id,
    short_id: &'a str,
    workspace_id: Id,
    slug: &'a str,
    name: &'a str,
    source_locale: &'a str,
    legal_prefixes: &'a [String],
    created_at: Instant,
}

fn of_project(one: &Project) -> ProjectBody<'_> {
    ProjectBody {
        id: Id(one.project_id.0),
        short_id: &one.short_id,
        workspace_id: Id(one.workspace_id.0),
        slug: &one.slug,
        name: &one.name,
        source_locale: &one.source.locale.tag,
        legal_prefixes: &one.legal_prefixes,
        created_at: Instant(one.created_at),
    }
}

#[derive(serde::Serialize)]
struct PageBody<'a> {
    projects: Vec<ProjectBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(page: &ProjectPage, next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&PageBody { projects: page.projects.iter().map(of_project).collect(), next_cursor })
}
