//! Localization over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), this file, `request` (the way of a request), `input`, `output`, `answer` ·
//! `files`, `translations` · `describe` (what the service says of itself).

mod answer;
mod describe;
mod files;
mod input;
mod output;
mod request;
mod routes;
mod translations;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use quintet_platform::Foundation;
use quintet_platform::cursor;
use quintet_platform::http::request_id;
use quintet_storage::{Failure, Read as _, Uuid, decode_plain, encode_plain};
use tokio::sync::Semaphore;

use crate::authorization::{Authorization, Embedded};
use crate::language::{Health, Locale, check_stored_length, profiles};
use crate::locales;
use crate::model::{ProjectId, TenantId, WorkspaceId};
use crate::permissions::{Action, Wanted};
use crate::projects::{self, CreateProject, Project};
use crate::refusal::Refusal;
use crate::tables::AUDIT_HEADS;
use crate::workspaces;
use answer::{Answer, answered, refuse};
use request::{Asked, Begun, InFlight, arrive, ask, failed, parameter_refusal, refusal_of};
use routes::*;
pub use routes::{KeyRule, ROUTES, Route};

/// The largest ordinary body, in bytes.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// The largest and the usual page.
const PAGE_MAX: i64 = 500;
const PAGE_DEFAULT: i64 = 50;
/// How many files are read or written at a time.
const TURNS: usize = 2;
/// How often the core's checks run.
const CORE_INTERVAL: Duration = Duration::from_secs(60);

/// What localization needs to serve. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    authorization: Box<dyn Authorization>,
    core: Arc<Health>,
    in_flight: InFlight,
    /// Who reads a whole file at the moment.
    turns: Arc<Semaphore>,
}

impl std::ops::Deref for Parts {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Context {
    /// Made once, when the appliance starts. Runs the core's checks for the first time.
    #[must_use]
    pub fn new(foundation: Foundation) -> Context {
        Context(Arc::new(Parts {
            foundation,
            authorization: Box::new(Embedded),
            core: Arc::new(Health::start()),
            in_flight: InFlight::default(),
            turns: Arc::new(Semaphore::new(TURNS)),
        }))
    }

    /// The state of the language core.
    #[must_use]
    pub fn core(&self) -> &Health {
        &self.core
    }

    /// Runs the core's checks every minute, for as long as it is polled.
    pub async fn watch_core(self) {
        loop {
            tokio::time::sleep(CORE_INTERVAL).await;
            let core = Arc::clone(&self.core);
            if tokio::task::spawn_blocking(move || core.run()).await.is_err() {
                tracing::error!("the language core's checks could not be run");
            }
        }
    }

    /// Demands that the core can be relied on.
    fn demand_core(&self) -> Result<(), Refusal> {
        if self.core.is_available() { Ok(()) } else { Err(Refusal::CoreUnavailable) }
    }
}

/// Localization's listener.
pub fn routes(context: Context) -> Router {
    Router::new()
        .route(HEALTHZ.path, get(get_health))
        .route(READYZ.path, get(get_readiness))
        .route(ME.path, get(get_me))
        .route(WORKSPACE_LIST.path, get(list_workspaces).post(create_workspace))
        .route(WORKSPACE_GET.path, get(get_workspace))
        .route(PROJECT_LIST.path, get(list_projects).post(create_project))
        .route(PROJECT_GET.path, get(get_project).patch(patch_project))
        .route(LOCALES_GET.path, get(get_locales).put(put_locales))
        .route(SOURCE_LOCALE_GET.path, get(get_source_locale).put(put_source_locale))
        .route(LOCALE_LIST.path, get(list_locales))
        .route(LOCALE_VALIDATE.path, post(validate_locale))
        .route(FILE_UPLOAD.path, post(files::upload_file).get(files::list_files))
        .route(EXPORT.path, get(files::export_file))
        .route(MANIFEST.path, get(files::get_manifest))
        .route(CONTEXT_GET.path, get(translations::get_contexts).put(translations::put_contexts))
        .route(KEY_LIST.path, get(translations::list_keys))
        .route(TRANSLATION_GET.path, get(translations::get_translation).put(translations::put_translation))
        .route(OPENAPI.path, get(describe::get_openapi))
        .route(LLMS.path, get(describe::get_llms))
        .fallback(async || refuse(&Refusal::NotFound))
        .method_not_allowed_fallback(async || refuse(&Refusal::MethodNotAllowed))
        .layer(middleware::from_fn(request_id::assign))
        .with_state(context)
}

/// The answer to a request whose handler panicked.
#[must_use]
pub fn panic_answer() -> Response {
    refuse(&Refusal::InternalError)
}

async fn get_health() -> Response {
    answered(body(200, output::alive()))
}

async fn get_readiness(State(context): State<Context>) -> Response {
    let reads = context.store.read().contains(&AUDIT_HEADS, &TenantId(Uuid::nil())).is_ok();
    let is_ready = reads && context.store.stop_reason().is_none();
    let status = if is_ready { 200 } else { 503 };
    answered(body(status, output::readiness(is_ready, &context.core.outcomes())))
}

/// An answer of JSON.
fn body(status: u16, json: Result<Vec<u8>, Failure>) -> Result<Answer, Refusal> {
    json.map(|json| Answer::json(status, json)).map_err(|failure| failed(&failure))
}

async fn get_me(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_me(&context, request).await)
}

/// Every permission the caller has now, with each project that it covers by its own short id.
async fn try_get_me(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &ME).await?;
    asked.end_query()?;
    let read = context.store.read();
    let granted = asked.granted(context, &read).await?;
    let texts = projects::effective_permissions(&read, asked.tenant_id, &granted);
    let texts = texts.map_err(|failure| failed(&failure))?;
    body(200, output::me(asked.tenant_id.0, asked.caller.principal_id, &texts))
}

async fn list_workspaces(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_workspaces(&context, request).await)
}

async fn try_list_workspaces(context: &Context, request: Request) -> Result<Answer, Refusal> {
    const KIND: &str = "workspaces";
    let mut asked = ask(context, request, &WORKSPACE_LIST).await?;
    let (after, limit) = page::<[u8; 16]>(&mut asked, KIND)?;
    let read = context.store.read();
    let found =
        workspaces::list_workspaces(&read, asked.tenant_id, after.map(|id| WorkspaceId(Uuid::from_bytes(id))), limit);
    let (found, more) = found.map_err(|failure| failed(&failure))?;
    let last = found.last().filter(|_| more).map(|last| last.workspace_id.0.into_bytes());
    body(200, output::workspaces(&found, next_cursor(KIND, last)?))
}

async fn create_workspace(State(context): State<Context>, request: Request) -> Response {
    answered(try_create_workspace(&context, request).await)
}

async fn try_create_workspace(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &WORKSPACE_CREATE, BODY_BYTES_MAX).await?;
    let command = input::create_workspace(arrived.json()?)?;
    let going = match arrived.begin(context)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    let asked = &arrived.asked;
    asked.demand(context, &context.store.read(), Wanted::Org("org_members-manage")).await?;
    let actor = asked.actor();
    going
        .write(context, move |tx, now| {
            let made = workspaces::create_workspace(tx, now, &actor, command)?;
            Ok(Answer::json(201, output::workspace(&made)?))
        })
        .await
}

async fn get_workspace(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_workspace(&context, request).await)
}

async fn try_get_workspace(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &WORKSPACE_GET).await?;
    asked.end_query()?;
    let workspace_id = WorkspaceId(asked.id(0)?);
    let found = workspaces::get_workspace(&context.store.read(), asked.tenant_id, workspace_id);
    body(200, output::workspace(&found.map_err(refusal_of)?))
}

async fn list_projects(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_projects(&context, request).await)
}

async fn try_list_projects(context: &Context, request: Request) -> Result<Answer, Refusal> {
    const KIND: &str = "projects";
    let mut asked = ask(context, request, &PROJECT_LIST).await?;
    let (after, limit) = page::<[u8; 16]>(&mut asked, KIND)?;
    let read = context.store.read();
    let granted = asked.granted(context, &read).await?;
    let found = projects::list_projects(
        &read,
        asked.tenant_id,
        &granted,
        after.map(|id| ProjectId(Uuid::from_bytes(id))),
        limit,
    );
    let (found, more) = found.map_err(|failure| failed(&failure))?;
    let last = found.last().filter(|_| more).map(|last| last.project_id.0.into_bytes());
    body(200, output::projects(&found, next_cursor(KIND, last)?))
}

async fn create_project(State(context): State<Context>, request: Request) -> Response {
    answered(try_create_project(&context, request).await)
}

/// The tag before the workspace, as on the routes of translations; the permission is the workspace's, so that it comes
/// after the workspace was found.
async fn try_create_project(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &PROJECT_CREATE, BODY_BYTES_MAX).await?;
    let wanted = input::create_project(arrived.json()?)?;
    let going = match arrived.begin(context)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    let source_locale = locales::source(&wanted.source_locale)?;
    let asked = &arrived.asked;
    let read = context.store.read();
    let workspace = workspaces::get_workspace(&read, asked.tenant_id, wanted.workspace_id).map_err(refusal_of)?;
    asked.demand(context, &read, Wanted::WorkspaceAdmin(&workspace.row.short_id)).await?;
    let command =
        CreateProject { workspace_id: wanted.workspace_id, slug: wanted.slug, name: wanted.name, source_locale };
    let actor = asked.actor();
    going
        .write(context, move |tx, now| {
            let made = projects::create_project(tx, now, &actor, command)?;
            Ok(Answer::json(201, output::project(&made)?))
        })
        .await
}

/// The project of the path, if the caller may do this in it.
async fn permitted(context: &Context, asked: &Asked, action: Action) -> Result<Project, Refusal> {
    let project_id = ProjectId(asked.id(0)?);
    let read = context.store.read();
    let project = projects::get_project(&read, asked.tenant_id, project_id).map_err(refusal_of)?;
    asked.demand(context, &read, Wanted::InProject(project.place(), action)).await?;
    Ok(project)
}

async fn get_project(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_project(&context, request).await)
}

async fn try_get_project(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &PROJECT_GET).await?;
    asked.end_query()?;
    body(200, output::project(&permitted(context, &asked, Action::Read).await?))
}

async fn patch_project(State(context): State<Context>, request: Request) -> Response {
    answered(try_patch_project(&context, request).await)
}

async fn try_patch_project(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &PROJECT_PATCH, BODY_BYTES_MAX).await?;
    let project_id = ProjectId(arrived.asked.id(0).unwrap_or(Uuid::nil()));
    let command = input::patch_project(project_id, arrived.json()?)?;
    let going = match arrived.begin(context)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    permitted(context, &arrived.asked, Action::Manage).await?;
    let actor = arrived.asked.actor();
    going
        .write(context, move |tx, now| {
            let patched = projects::patch_project(tx, now, &actor, command)?;
            Ok(Answer::json(200, output::project(&patched)?))
        })
        .await
}

async fn get_locales(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_locales(&context, request).await)
}

async fn try_get_locales(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &LOCALES_GET).await?;
    asked.end_query()?;
    let project = permitted(context, &asked, Action::Read).await?;
    let set = locales::get_locales(&context.store.read(), asked.tenant_id, project.project_id).map_err(refusal_of)?;
    Ok(body(200, output::project_locales(&set))?.tagged(set.etag()))
}

async fn put_locales(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_locales(&context, request).await)
}

async fn try_put_locales(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &LOCALES_PUT, BODY_BYTES_MAX).await?;
    let tags = input::put_locales(arrived.json()?)?;
    let going = match arrived.begin(context)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    context.demand_core()?;
    let set = locales::stored_set(&tags)?;
    let asked = &arrived.asked;
    let project_id = permitted(context, asked, Action::Manage).await?.project_id;
    let (actor, expected) = (asked.actor(), asked.expected());
    going
        .write(context, move |tx, now| {
            let set = locales::put_locales(tx, now, &actor, project_id, &expected, set)?;
            Ok(Answer::json(200, output::project_locales(&set)?).tagged(set.etag()))
        })
        .await
}

async fn get_source_locale(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_source_locale(&context, request).await)
}

async fn try_get_source_locale(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &SOURCE_LOCALE_GET).await?;
    asked.end_query()?;
    let project = permitted(context, &asked, Action::Read).await?;
    let found = locales::get_source_locale(&context.store.read(), asked.tenant_id, project.project_id);
    let found = found.map_err(refusal_of)?;
    Ok(body(200, output::source_locale(&found))?.tagged(found.etag()))
}

async fn put_source_locale(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_source_locale(&context, request).await)
}

async fn try_put_source_locale(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &SOURCE_LOCALE_PUT, BODY_BYTES_MAX).await?;
    let tag = input::one_tag("source_locale", arrived.json()?)?;
    let going = match arrived.begin(context)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    context.demand_core()?;
    let locale = locales::source(&tag)?;
    let asked = &arrived.asked;
    let project_id = permitted(context, asked, Action::Manage).await?.project_id;
    let (actor, expected) = (asked.actor(), asked.expected());
    going
        .write(context, move |tx, now| {
            let set = locales::put_source_locale(tx, now, &actor, project_id, &expected, locale)?;
            Ok(Answer::json(200, output::source_locale(&set)?).tagged(set.etag()))
        })
        .await
}

async fn list_locales(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_locales(&context, request).await)
}

async fn try_list_locales(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &LOCALE_LIST).await?;
    asked.end_query()?;
    context.demand_core()?;
    body(200, output::locale_list(profiles()))
}

async fn validate_locale(State(context): State<Context>, request: Request) -> Response {
    answered(try_validate_locale(&context, request).await)
}

async fn try_validate_locale(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &LOCALE_VALIDATE, BODY_BYTES_MAX).await?;
    let tag = input::one_tag("tag", arrived.json()?)?;
    context.demand_core()?;
    let locale = Locale::parse(&tag).and_then(|locale| check_stored_length(&locale).map(|()| locale));
    body(200, output::validation(&locale.map_err(|refusal| refusal.code())))
}

/// Where a page begins and how long it is, with nothing left of the query.
fn page<P: bincode::Decode<()>>(asked: &mut Asked, kind: &str) -> Result<(Option<P>, usize), Refusal> {
    let limit = asked.query.integer("limit", 1..=PAGE_MAX).map_err(|error| parameter_refusal(&error))?;
    let limit = usize::try_from(limit.unwrap_or(PAGE_DEFAULT)).unwrap_or(1);
    let after = match asked.query.take("cursor") {
        None => None,
        Some(text) => {
            let position = cursor::decode(kind, &text).ok().and_then(|bytes| decode_plain::<P>(&bytes).ok());
            Some(position.ok_or_else(|| Refusal::parameter("cursor", "is not a cursor of this list"))?)
        }
    };
    asked.end_query()?;
    Ok((after, limit))
}

fn next_cursor<P: bincode::Encode>(kind: &str, position: Option<P>) -> Result<Option<String>, Refusal> {
    let Some(position) = position else { return Ok(None) };
    let bytes = encode_plain(&position).map_err(|failure| failed(&failure))?;
    Ok(Some(cursor::encode(kind, &bytes)))
}
