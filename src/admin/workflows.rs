//! Workflows of all tenants, for the operator: which there are, how one stands, its picture, and ending it.

use std::time::Instant;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use quintet_platform::access::Tenant;
use quintet_platform::ids::parse_ulid;
use quintet_runs::operator::workflows::{self, NotCancelled};
use quintet_runs::pictures::NoPicture;
use quintet_storage::{Abort, Failure, Timestamp, Uuid, WriteTx};
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::records::{Asked, RecordView, view};
use super::task::{TaskError, WRITE_DEADLINE, blocking, meant};
use crate::app::App;

/// The newest workflows; `tenant`, `state`, `limit`.
pub const LIST: Call<(), WorkflowsView> = Call::look("/workflows");
/// One workflow with its nodes; `tenant`.
pub const SHOW: Call<(), RecordView> = Call::look("/workflows/{workflow}");
/// The picture of one; `tenant`.
pub const PICTURE: Call<(), PictureView> = Call::look("/workflows/{workflow}/graph.svg");
/// Cancels an active workflow; `tenant`.
pub const CANCEL: Call<(), RecordView> = Call::change("/workflows/{workflow}/cancel");

/// Workflows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkflowsView {
    /// Newest first.
    pub items: Vec<RecordView>,
    /// Whether there are older ones.
    pub truncated: bool,
}

/// How the workflows of all tenants stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingView {
    /// Those that have not ended.
    pub active: u64,
    /// Gates that wait for a decision.
    pub open_gates: u64,
    /// For how long the oldest of them has been open; none if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_gate_seconds: Option<u64>,
}

/// How workflows stand.
pub(super) fn standing(app: &App) -> Result<StandingView, Failure> {
    let standing = workflows::standing(&app.runs)?;
    let now = app.clock.now();
    let seconds = |at: Timestamp| u64::try_from(now.micros_since(at).max(0) / 1_000_000).unwrap_or(0);
    Ok(StandingView {
        active: standing.active,
        open_gates: standing.open_gates,
        oldest_gate_seconds: standing.oldest_gate_opened_at.map(seconds),
    })
}

/// A picture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PictureView {
    /// It, as SVG.
    pub svg: String,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(SHOW.served_by(show))
        .merge(PICTURE.served_by(picture))
        .merge(CANCEL.served_by(cancel))
        .with_state(app)
}

async fn list(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(raw.as_deref())?;
    let tenants = asked.tenants(&app)?;
    let state = asked.0.take("state").filter(|state| !state.is_empty());
    if let Some(state) = state.as_deref().filter(|state| !workflows::STATES.contains(state)) {
        return Err(TaskError::Unusable(format!("unknown state {state:?}; {}", meant(state, &workflows::STATES))));
    }
    let limit = asked.limit()?;
    LIST.answer(&blocking(move || newest(&app, &tenants, state.as_deref(), limit)).await??)
}

/// The newest workflows of these tenants.
fn newest(app: &App, tenants: &[Tenant], state: Option<&str>, limit: usize) -> Result<WorkflowsView, Failure> {
    let (mut all, mut truncated): (Vec<(Timestamp, RecordView)>, bool) = (Vec::new(), false);
    for tenant in tenants {
        let (found, has_more) = workflows::newest(&app.runs, tenant.tenant_id, state, limit)?;
        all.extend(found.into_iter().map(|(at, record)| (at, view(tenant, record))));
        all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        truncated |= has_more || all.len() > limit;
        all.truncate(limit);
    }
    Ok(WorkflowsView { items: all.into_iter().map(|(_, one)| one).collect(), truncated })
}

/// The workflow of this id, among those of the tenant that is named, or of all.
fn workflow(raw: Option<&str>, app: &App, id: &str) -> Result<(Tenant, Uuid), TaskError> {
    let none = || TaskError::NotFound(format!("there is no workflow {id:?}"));
    let workflow_id = parse_ulid(id).ok_or_else(none)?;
    for tenant in Asked::of(raw)?.tenants(app)? {
        if workflows::exists(&app.runs, tenant.tenant_id, workflow_id)? {
            return Ok((tenant, workflow_id));
        }
    }
    Err(none())
}

async fn show(State(app): State<App>, Path(id): Path<String>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let (tenant, workflow_id) = workflow(raw.as_deref(), &app, &id)?;
    let tenant_id = tenant.tenant_id;
    let record = blocking(move || workflows::workflow(&app.runs, tenant_id, workflow_id)).await??;
    let record = record.ok_or_else(|| TaskError::NotFound(format!("there is no workflow {id:?} any more")))?;
    SHOW.answer(&view(&tenant, record))
}

async fn picture(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, TaskError> {
    let (tenant, workflow_id) = workflow(raw.as_deref(), &app, &id)?;
    let (tenant_id, reading) = (tenant.tenant_id, app.clone());
    let dot = blocking(move || workflows::graph(&reading.runs, tenant_id, workflow_id)).await??;
    let dot = dot.ok_or_else(|| TaskError::NotFound(format!("there is no workflow {id:?} any more")))?;
    let drawn = workflows::picture(&app.runs, tenant_id, dot).await;
    let svg = drawn.map_err(|unpainted| match unpainted {
        NoPicture::Busy => TaskError::Failed("other pictures are being drawn".into()),
        NoPicture::TooLarge => TaskError::Conflict("the graph is too large for a picture".into()),
        NoPicture::Failed => TaskError::Failed("it could not be drawn; see the appliance's log".into()),
    })?;
    let svg = String::from_utf8(svg).map_err(|error| TaskError::Failed(error.to_string()))?;
    PICTURE.answer(&PictureView { svg })
}

async fn cancel(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, TaskError> {
    let (tenant, workflow_id) = workflow(raw.as_deref(), &app, &id)?;
    let tenant_id = tenant.tenant_id;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| workflows::cancel(tx, now, tenant_id, workflow_id);
    // Ending something frees what it holds: also below the disk reserve.
    let cancelled = app.store.write_freeing(Instant::now() + WRITE_DEADLINE, verb).await;
    let record = cancelled.map_err(|abort| match abort {
        Abort::Failed(failure) => failure.into(),
        Abort::Refused(NotCancelled::NoSuch) => TaskError::NotFound(format!("there is no workflow {id:?} any more")),
        Abort::Refused(NotCancelled::NotNow(why)) => TaskError::Conflict(why.to_owned()),
    })?;
    CANCEL.answer(&view(&tenant, record))
}
