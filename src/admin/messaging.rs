//! Messaging, for the operator: workspaces of all tenants, their keys and agents, paused threads.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use quintet_messaging::operator::{
    self, AgentView, IssuedKeyView, KeyView, KeyWish, LimitView, Missing, NotDone, Prepared, StandingView, ThreadView,
    WorkspaceView, WorkspaceWish,
};
use quintet_platform::access::{Service, Tenant};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};
use serde::{Deserialize, Serialize};

use super::call::{Call, Items};
use super::records::Asked;
use super::task::{TaskError, WRITE_DEADLINE, blocking};
use super::tenants;
use crate::app::App;

/// Workspaces that are not deleted, the oldest first; `tenant`.
pub const LIST: Call<(), Items<WorkspaceView>> = Call::look("/messaging/workspaces");
/// Makes a workspace.
pub const CREATE: Call<NewWorkspace, WorkspaceView> = Call::change("/messaging/workspaces");
/// One workspace.
pub const SHOW: Call<(), WorkspaceView> = Call::look("/messaging/workspaces/{slug}");
/// The limits of a workspace.
pub const LIMITS: Call<(), Items<LimitView>> = Call::look("/messaging/workspaces/{slug}/limits");
/// Sets limits of a workspace.
pub const SET_LIMITS: Call<Items<String>, Items<LimitView>> = Call::change("/messaging/workspaces/{slug}/limits");
/// Says whether a workspace takes mail from outside.
pub const SET_INGRESS: Call<IngressWish, WorkspaceView> = Call::change("/messaging/workspaces/{slug}/ingress");
/// Suspends a workspace.
pub const SUSPEND: Call<(), WorkspaceView> = Call::change("/messaging/workspaces/{slug}/suspend");
/// Activates a workspace.
pub const ACTIVATE: Call<(), WorkspaceView> = Call::change("/messaging/workspaces/{slug}/activate");
/// Deletes a workspace, for good.
pub const DELETE: Call<(), WorkspaceView> = Call::change("/messaging/workspaces/{slug}/delete");
/// The keys of a workspace, revoked ones too.
pub const KEYS: Call<(), Items<KeyView>> = Call::look("/messaging/workspaces/{slug}/keys");
/// Issues a key.
pub const ISSUE_KEY: Call<KeyWish, IssuedKeyView> = Call::change("/messaging/keys");
/// Revokes a key.
pub const REVOKE_KEY: Call<(), KeyView> = Call::change("/messaging/keys/{key_id}/revoke");
/// The agents of a workspace, retired ones too.
pub const AGENTS: Call<(), Items<AgentView>> = Call::look("/messaging/workspaces/{slug}/agents");
/// Retires an agent.
pub const RETIRE: Call<(), AgentView> = Call::change("/messaging/workspaces/{slug}/agents/{name}/retire");
/// Has a paused thread go on.
pub const RESUME: Call<(), ThreadView> = Call::change("/messaging/threads/{thread}/resume");
/// Mail of a workspace that could not be delivered.
pub const UNDELIVERABLE: Call<(), Items<UndeliverableView>> = Call::look("/messaging/workspaces/{slug}/undeliverable");

/// Asks for a workspace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewWorkspace {
    /// The tenant's id or name; none: the only one that has messaging.
    #[serde(default)]
    pub tenant: Option<String>,
    /// What is to be made.
    #[serde(flatten)]
    pub workspace: WorkspaceWish,
}

/// Says whether mail from outside is to be taken.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct IngressWish {
    /// Whether it is.
    pub open: bool,
}

/// Mail that could not be delivered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UndeliverableView {
    /// When it came; RFC 3339.
    pub received_at: String,
    /// Why it was given up.
    pub reason: String,
    /// Who sent it.
    pub sender: String,
    /// To whom.
    pub recipient: String,
    /// Its subject.
    pub subject: String,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(CREATE.served_by(async |State(app): State<App>, body: Body| {
            CREATE.answer(&create(&app, CREATE.wish(body).await?).await?)
        }))
        .merge(SHOW.served_by(show))
        .merge(LIMITS.served_by(limits))
        .merge(SET_LIMITS.served_by(set_limits))
        .merge(SET_INGRESS.served_by(set_ingress))
        .merge(SUSPEND.served_by(suspend))
        .merge(ACTIVATE.served_by(activate))
        .merge(DELETE.served_by(delete))
        .merge(KEYS.served_by(keys))
        .merge(ISSUE_KEY.served_by(async |State(app): State<App>, body: Body| {
            ISSUE_KEY.answer(&issue_key(&app, ISSUE_KEY.wish(body).await?).await?)
        }))
        .merge(REVOKE_KEY.served_by(revoke_key))
        .merge(AGENTS.served_by(agents))
        .merge(RETIRE.served_by(retire))
        .merge(RESUME.served_by(resume))
        .merge(UNDELIVERABLE.served_by(undeliverable))
        .with_state(app)
}

/// What shows what there is.
fn shown_by(missing: Missing) -> &'static str {
    match missing {
        Missing::Workspace => "`quintet messaging workspace list` shows what workspaces there are",
        Missing::Key => "`quintet messaging key list --workspace SLUG` shows the keys of a workspace",
        Missing::Agent => "`quintet messaging agent list --workspace SLUG` shows the agents of a workspace",
        Missing::Approval => "`quintet messaging approval list` shows what approvals there are",
        Missing::Kind => "`quintet messaging approval kind list --workspace SLUG` shows the kinds of a workspace",
        Missing::Thread => "the ids of threads stand in what agents are sent; GET /v1/threads lists an agent's",
    }
}

pub(super) fn told(abort: Abort<NotDone>) -> TaskError {
    match abort {
        Abort::Failed(failure) => failure.into(),
        Abort::Refused(NotDone::NoSuch(missing, what)) => {
            TaskError::NotThere(format!("there is no {what}"), shown_by(missing))
        }
        Abort::Refused(NotDone::NotNow(why)) => TaskError::Conflict(why),
        Abort::Refused(NotDone::Unusable(why)) => TaskError::Unusable(why),
    }
}

/// Runs a verb on the writer.
async fn write<T: Send + 'static>(
    app: &App,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<NotDone>> + Send + 'static,
) -> Result<T, TaskError> {
    app.store.write(Instant::now() + WRITE_DEADLINE, verb).await.map_err(told)
}

/// [`write`] for what shuts somebody out: it goes on below the disk reserve.
async fn write_freeing<T: Send + 'static>(
    app: &App,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<NotDone>> + Send + 'static,
) -> Result<T, TaskError> {
    app.store.write_freeing(Instant::now() + WRITE_DEADLINE, verb).await.map_err(told)
}

/// Reads apart from the tasks that answer requests.
pub(super) async fn look<T: Send + 'static>(
    app: App,
    read: impl FnOnce(&quintet_messaging::Context) -> Result<T, Abort<NotDone>> + Send + 'static,
) -> Result<T, TaskError> {
    blocking(move || read(&app.messaging)).await?.map_err(told)
}

async fn list(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(raw.as_deref())?;
    let wanted = asked.0.take("tenant").map(|wanted| tenants::resolve(&app.store.read(), &wanted)).transpose()?;
    let tenant_id = wanted.map(|tenant| tenant.tenant_id);
    let items = blocking(move || operator::workspaces(&app.messaging, tenant_id)).await??;
    LIST.answer(&Items { items })
}

/// The tenant that is named, or the only one that is provisioned for messaging.
fn owner(app: &App, wanted: Option<&str>) -> Result<Tenant, TaskError> {
    let read = app.store.read();
    let has_messaging = |tenant: &Tenant| tenant.services.contains(Service::Messaging);
    if let Some(wanted) = wanted {
        let tenant = tenants::resolve(&read, wanted)?;
        let without = || TaskError::Conflict(format!("tenant {:?} is not provisioned for messaging", tenant.name));
        return if has_messaging(&tenant) { Ok(tenant) } else { Err(without()) };
    }
    let mut all = tenants::all(&read)?.into_iter().filter(has_messaging);
    match (all.next(), all.next()) {
        (Some(tenant), None) => Ok(tenant),
        (Some(_), Some(_)) => Err(TaskError::Unusable("several tenants have messaging; name one with --tenant".into())),
        (None, _) => {
            Err(TaskError::NotFound("no tenant has messaging; make one with `quintet tenant create NAME`".into()))
        }
    }
}

/// Makes a workspace.
///
/// # Errors
/// The wish makes no sense, there is no such tenant, or the slug is taken.
pub async fn create(app: &App, wish: NewWorkspace) -> Result<WorkspaceView, TaskError> {
    let tenant_id = owner(app, wish.tenant.as_deref())?.tenant_id;
    write(app, move |tx, now| operator::create_workspace(tx, now, tenant_id, wish.workspace)).await
}

async fn show(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    SHOW.answer(&look(app, move |messaging| operator::workspace(messaging, &slug)).await?)
}

async fn limits(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    let items = look(app, move |messaging| operator::limits(messaging, &slug)).await?;
    LIMITS.answer(&Items { items })
}

async fn set_limits(State(app): State<App>, Path(slug): Path<String>, body: Body) -> Result<Response, TaskError> {
    let Items { items: wishes } = SET_LIMITS.wish(body).await?;
    let items = write(&app, move |tx, now| operator::change_limits(tx, now, &slug, &wishes)).await?;
    SET_LIMITS.answer(&Items { items })
}

async fn set_ingress(State(app): State<App>, Path(slug): Path<String>, body: Body) -> Result<Response, TaskError> {
    let IngressWish { open } = SET_INGRESS.wish(body).await?;
    SET_INGRESS.answer(&write(&app, move |tx, _| operator::change_ingress(tx, &slug, open)).await?)
}

async fn suspend(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    SUSPEND.answer(&write_freeing(&app, move |tx, now| operator::suspend(tx, now, &slug)).await?)
}

async fn activate(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    ACTIVATE.answer(&write_freeing(&app, move |tx, now| operator::activate(tx, now, &slug)).await?)
}

async fn delete(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    DELETE.answer(&write_freeing(&app, move |tx, now| operator::delete(tx, now, &slug)).await?)
}

async fn keys(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    let items = look(app, move |messaging| operator::keys(messaging, &slug)).await?;
    KEYS.answer(&Items { items })
}

/// Issues a key.
///
/// # Errors
/// The wish makes no sense, or there are as many as there may be.
pub async fn issue_key(app: &App, wish: KeyWish) -> Result<IssuedKeyView, TaskError> {
    let prepared = Prepared::draw();
    write(app, move |tx, now| operator::issue_key(tx, now, wish, prepared)).await
}

async fn revoke_key(State(app): State<App>, Path(key_id): Path<String>) -> Result<Response, TaskError> {
    REVOKE_KEY.answer(&write_freeing(&app, move |tx, now| operator::revoke_key(tx, now, &key_id)).await?)
}

async fn agents(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    let items = look(app, move |messaging| operator::agents(messaging, &slug)).await?;
    AGENTS.answer(&Items { items })
}

async fn retire(State(app): State<App>, Path((slug, name)): Path<(String, String)>) -> Result<Response, TaskError> {
    RETIRE.answer(&write_freeing(&app, move |tx, now| operator::retire_agent(tx, now, &slug, &name)).await?)
}

async fn resume(State(app): State<App>, Path(thread): Path<String>) -> Result<Response, TaskError> {
    RESUME.answer(&write(&app, move |tx, now| operator::resume_thread(tx, now, &thread)).await?)
}

/// Nothing is mailed to the outside yet, so that nothing can be given up.
async fn undeliverable(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    look(app, move |messaging| operator::workspace(messaging, &slug)).await?;
    UNDELIVERABLE.answer(&Items { items: Vec::new() })
}

/// How messaging stands.
pub(super) fn standing(app: &App) -> Result<StandingView, Failure> {
    operator::standing(&app.messaging)
}
