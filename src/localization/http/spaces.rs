//! Workspaces, projects and locales over HTTP, and what goes for the service as a whole.

use axum::extract::{Request, State};
use axum::response::Response;
use quintet_storage::{Abort, Failure};

use super::answer::{Answer, answered};
use super::paging::{next_cursor, page};
use super::request::{Asked, Begun, arrive, ask, failed, refusal_of};
use super::routes::*;
use super::{input, output};
use crate::access::{Action, ProjectPlace, Wanted, effective_permissions, granted};
use crate::audit;
use crate::content;
use crate::context::Context;
use crate::language::{Locale, check_stored_length, profiles};
use crate::refusal::Refusal;
use crate::spaces::{self, CreateProject, Project, ProjectId, WorkspaceId};

/// The largest ordinary body, in bytes.
const BODY_BYTES_MAX: usize = 256 * 1024;

pub(super) async fn get_health() -> Response {
    answered(body(200, output::alive()))
}

pub(super) async fn get_readiness(State(context): State<Context>) -> Response {
    let reads = audit::is_readable(&context.store.read());
    let is_ready = reads && context.store.stop_reason().is_none();
    let status = if is_ready { 200 } else { 503 };
    answered(body(status, output::readiness(is_ready, &context.core().outcomes())))
}

/// An answer of JSON.
pub(super) fn body(status: u16, json: Result<Vec<u8>, Failure>) -> Result<Answer, Refusal> {
    json.map(|json| Answer::json(status, json)).map_err(|failure| failed(&failure))
}

pub(super) async fn get_me(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_me(&context, request).await)
}

/// Every permission the caller has now, with each project that it covers by its own short id.
async fn try_get_me(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &ME).await?;
    asked.end_query()?;
    let told = context.aside(move |read| {
        let granted = granted(read, &asked.caller)?;
        let texts = effective_permissions(read, asked.tenant_id, &granted)?;
        Ok(Answer::json(200, output::me(asked.tenant_id.0, asked.caller.principal_id, &texts)?))
    });
    told.await.map_err(refusal_of)
}

pub(super) async fn list_workspaces(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_workspaces(&context, request).await)
}

async fn try_list_workspaces(context: &Context, request: Request) -> Result<Answer, Refusal> {
    const KIND: &str = "workspaces";
    let mut asked = ask(context, request, &WORKSPACE_LIST).await?;
    let (after, limit) = page(&mut asked, KIND)?;
    let found = spaces::list_workspaces(&context.store.read(), asked.tenant_id, after.map(WorkspaceId), limit);
    let (found, more) = found.map_err(|failure| failed(&failure))?;
    let last = found.last().filter(|_| more).map(|last| last.workspace_id.0);
    body(200, output::workspaces(&found, next_cursor(KIND, last)?))
}

pub(super) async fn create_workspace(State(context): State<Context>, request: Request) -> Response {
    answered(try_create_workspace(&context, request).await)
}

async fn try_create_workspace(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &WORKSPACE_CREATE, BODY_BYTES_MAX).await?;
    let (command, digest) = arrived.read(context, input::create_workspace).await?;
    let going = match arrived.begin(context, digest)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    let asked = &arrived.asked;
    asked.demand(&context.store.read(), Wanted::Org("org_members-manage"))?;
    let actor = asked.actor();
    going
        .write(context, move |tx, now| {
            let made = spaces::create_workspace(tx, now, &actor, command)?;
            Ok(Answer::json(201, output::workspace(&made)?))
        })
        .await
}

pub(super) async fn get_workspace(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_workspace(&context, request).await)
}

async fn try_get_workspace(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &WORKSPACE_GET).await?;
    asked.end_query()?;
    let workspace_id = WorkspaceId(asked.id(0)?);
    let found = spaces::get_workspace(&context.store.read(), asked.tenant_id, workspace_id);
    body(200, output::workspace(&found.map_err(refusal_of)?))
}

pub(super) async fn list_projects(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_projects(&context, request).await)
}

async fn try_list_projects(context: &Context, request: Request) -> Result<Answer, Refusal> {
    const KIND: &str = "projects";
    let mut asked = ask(context, request, &PROJECT_LIST).await?;
    let (after, limit) = page(&mut asked, KIND)?;
    let listed = context.aside(move |read| {
        let granted = granted(read, &asked.caller)?;
        let may_see = |project: &Project| granted.may_read(ProjectPlace::of(project));
        let found = spaces::list_projects(read, asked.tenant_id, after.map(ProjectId), limit, may_see)?;
        let next = next_cursor(KIND, found.next.map(|id| id.0)).map_err(Abort::Refused)?;
        Ok(Answer::json(200, output::projects(&found.projects, next)?))
    });
    listed.await.map_err(refusal_of)
}

pub(super) async fn create_project(State(context): State<Context>, request: Request) -> Response {
    answered(try_create_project(&context, request).await)
}

/// The permission is the workspace's, so that it comes after the workspace was found.
async fn try_create_project(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &PROJECT_CREATE, BODY_BYTES_MAX).await?;
    let (wanted, digest) = arrived.read(context, input::create_project).await?;
    let going = match arrived.begin(context, digest)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    let asked = &arrived.asked;
    let read = context.store.read();
    let workspace = spaces::get_workspace(&read, asked.tenant_id, wanted.workspace_id).map_err(refusal_of)?;
    asked.demand(&read, Wanted::WorkspaceAdmin(&workspace.short_id))?;
    let source_locale = spaces::given_locale(&wanted.source_locale)?;
    let command =
        CreateProject { workspace_id: wanted.workspace_id, slug: wanted.slug, name: wanted.name, source_locale };
    let actor = asked.actor();
    going
        .write(context, move |tx, now| {
            let made = spaces::create_project(tx, now, &actor, command)?;
            Ok(Answer::json(201, output::project(&made)?))
        })
        .await
}

/// The project of the path, if the caller may do this in it.
pub(super) fn permitted(context: &Context, asked: &Asked, action: Action) -> Result<Project, Refusal> {
    let project_id = ProjectId(asked.id(0)?);
    let read = context.store.read();
    let project = spaces::get_project(&read, asked.tenant_id, project_id).map_err(refusal_of)?;
    asked.demand(&read, Wanted::InProject(ProjectPlace::of(&project), action))?;
    Ok(project)
}

pub(super) async fn get_project(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_project(&context, request).await)
}

async fn try_get_project(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &PROJECT_GET).await?;
    asked.end_query()?;
    body(200, output::project(&permitted(context, &asked, Action::Read)?))
}

pub(super) async fn patch_project(State(context): State<Context>, request: Request) -> Response {
    answered(try_patch_project(&context, request).await)
}

async fn try_patch_project(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &PROJECT_PATCH, BODY_BYTES_MAX).await?;
    let (wanted, digest) = arrived.read(context, input::patch_project).await?;
    let going = match arrived.begin(context, digest)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    let project_id = permitted(context, &arrived.asked, Action::Manage)?.project_id;
    let command = wanted.of(project_id);
    let actor = arrived.asked.actor();
    going
        .write(context, move |tx, now| {
            let patched = spaces::patch_project(tx, now, &actor, command)?;
            Ok(Answer::json(200, output::project(&patched)?))
        })
        .await
}

pub(super) async fn get_locales(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_locales(&context, request).await)
}

async fn try_get_locales(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &LOCALES_GET).await?;
    asked.end_query()?;
    let project = permitted(context, &asked, Action::Read)?;
    let set = spaces::get_locales(&context.store.read(), asked.tenant_id, project.project_id);
    let set = set.map_err(|failure| failed(&failure))?;
    Ok(body(200, output::project_locales(project.project_id, &set))?.tagged(set.etag()))
}

pub(super) async fn put_locales(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_locales(&context, request).await)
}

async fn try_put_locales(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &LOCALES_PUT, BODY_BYTES_MAX).await?;
    let (tags, digest) = arrived.read(context, input::put_locales).await?;
    let going = match arrived.begin(context, digest)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    context.demand_core()?;
    let asked = &arrived.asked;
    let project_id = permitted(context, asked, Action::Manage)?.project_id;
    let set = spaces::stored_set(&tags)?;
    let (actor, expected) = (asked.actor(), asked.expected());
    going
        .write(context, move |tx, now| {
            let set = spaces::put_locales(tx, now, &actor, project_id, &expected, set)?;
            Ok(Answer::json(200, output::project_locales(project_id, &set)?).tagged(set.etag()))
        })
        .await
}

pub(super) async fn get_source_locale(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_source_locale(&context, request).await)
}

async fn try_get_source_locale(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &SOURCE_LOCALE_GET).await?;
    asked.end_query()?;
    let project = permitted(context, &asked, Action::Read)?;
    let told = output::source_locale(project.project_id, &project.source);
    Ok(body(200, told)?.tagged(project.source.etag()))
}

pub(super) async fn put_source_locale(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_source_locale(&context, request).await)
}

async fn try_put_source_locale(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &SOURCE_LOCALE_PUT, BODY_BYTES_MAX).await?;
    let (tag, digest) = arrived.read(context, |json| input::one_tag("source_locale", json)).await?;
    let going = match arrived.begin(context, digest)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    context.demand_core()?;
    let asked = &arrived.asked;
    let project_id = permitted(context, asked, Action::Manage)?.project_id;
    let locale = spaces::given_locale(&tag)?;
    let (actor, expected) = (asked.actor(), asked.expected());
    going
        .write(context, move |tx, now| {
            let set = content::put_source_locale(tx, now, &actor, project_id, &expected, locale)?;
            Ok(Answer::json(200, output::source_locale(project_id, &set)?).tagged(set.etag()))
        })
        .await
}

pub(super) async fn list_locales(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_locales(&context, request).await)
}

async fn try_list_locales(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &LOCALE_LIST).await?;
    asked.end_query()?;
    context.demand_core()?;
    body(200, output::locale_list(profiles()))
}

pub(super) async fn validate_locale(State(context): State<Context>, request: Request) -> Response {
    answered(try_validate_locale(&context, request).await)
}

async fn try_validate_locale(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &LOCALE_VALIDATE, BODY_BYTES_MAX).await?;
    let (tag, _) = arrived.read(context, |json| input::one_tag("tag", json)).await?;
    context.demand_core()?;
    let locale = Locale::parse(&tag).and_then(|locale| check_stored_length(&locale).map(|()| locale));
    body(200, output::validation(&locale.map_err(|refusal| refusal.code())))
}
