//! Workspaces: list, create, read.

use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, CURSOR, Content, Endpoint, Id, Instant, KeyRule, Route, Segment, Shape, json as success, next_cursor,
    refusal_of, written,
};
use quintet_storage::Failure;

use crate::access::Wanted;
use crate::http::{Answered, Call, Form, LIMIT, Localization, read};
use crate::refusal::Refusal;
use crate::spaces::model::{NAME_CHARS_MAX, Workspace, WorkspaceId, is_slug};
use crate::spaces::workspaces::{self, CreateWorkspace};

const WORKSPACE: Segment = Segment::new("workspace_id", Shape::Uuid);

const LIST: Route = Route::get("list_workspaces", "/v1/workspaces")
    .permission("authenticated")
    .summary("List the workspaces")
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "WorkspacePage")]);
const CREATE: Route = Route::post("create_workspace", "/v1/workspaces")
    .permission("org_members-manage")
    .summary("Create a workspace")
    .key(KeyRule::Optional)
    .body(Content::Json("WorkspaceCreate"))
    .successes(&[success(201, "Workspace")])
    .makes(WORKSPACE.noun, "id")
    .codes(&["conflict"]);
const GET: Route = Route::get("get_workspace", "/v1/workspaces/{workspace_id}")
    .permission("authenticated")
    .summary("One workspace")
    .segments(&[WORKSPACE])
    .successes(&[success(200, "Workspace")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&GET, |call| Box::pin(get(call))),
];

async fn list(mut call: Call) -> Answered {
    const KIND: &str = "workspaces";
    let page = call.page::<WorkspaceId>(KIND, &LIMIT)?;
    call.answer(200, |read| {
        let (found, more) = workspaces::list_workspaces(read, call.caller.tenant_id(), page.after, page.limit)?;
        let last = found.last().filter(|_| more).map(|last| last.workspace_id);
        Ok(write_page(&found, next_cursor(KIND, last.as_ref())?)?)
    })
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let command = read_create(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org("org_members-manage")).map_err(refusal_of)?;
    let actor = call.caller.actor.clone();
    let made = change.write(move |tx, now| {
        let made = workspaces::create_workspace(tx, now, &actor, command)?;
        Ok(Answer::json(201, written(&of_workspace(&made))?))
    });
    made.await
}

async fn get(call: Call) -> Answered {
    let workspace_id = call.segment(WORKSPACE.name).map(WorkspaceId).ok_or(Refusal::NotFound)?;
    call.answer(200, |read| {
        let found = workspaces::get_workspace(read, call.caller.tenant_id(), workspace_id)?;
        Ok(written(&of_workspace(&found))?)
    })
}

/// The slug of a body.
pub(super) fn read_slug(form: &mut Form) -> Option<String> {
    let slug: Option<String> = form.required("slug");
    if slug.as_deref().is_some_and(|slug| !is_slug(slug)) {
        form.wrong("slug", "must match ^[a-z0-9][a-z0-9-]{1,62}$");
    }
    slug
}

/// WorkspaceCreate. The contract bounds the length of a name from above and nothing else, so that it may be empty, too.
fn read_create(json: Json) -> Result<CreateWorkspace, Refusal> {
    let mut form = Form::of_body(json)?;
    let slug = read_slug(&mut form);
    let name = form.required_text("name", 0, NAME_CHARS_MAX);
    form.finish()?;
    Ok(CreateWorkspace { slug: read(slug)?, name: read(name)? })
}

#[derive(serde::Serialize)]
struct WorkspaceBody<'a> {
    id: Id,
    short_id: &'a str,
    slug: &'a str,
    name: &'a str,
    created_at: Instant,
}

fn of_workspace(one: &Workspace) -> WorkspaceBody<'_> {
    WorkspaceBody {
        id: Id(one.workspace_id.0),
        short_id: &one.short_id,
        slug: &one.slug,
        name: &one.name,
        created_at: Instant(one.created_at),
    }
}

#[derive(serde::Serialize)]
struct WorkspacePage<'a> {
    workspaces: Vec<WorkspaceBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(page: &[Workspace], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&WorkspacePage { workspaces: page.iter().map(of_workspace).collect(), next_cursor })
}
