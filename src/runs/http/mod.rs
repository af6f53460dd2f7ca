//! Runs over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), this file, `request` (the way of a request), `input`, `output`, `answer` ·
//! `reading` (results, logs, samples), `follow` · `describe` (what the service says of itself).

mod answer;
mod describe;
mod follow;
mod input;
mod output;
mod reading;
mod request;
mod routes;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use quintet_platform::access::{Caller, Service};
use quintet_platform::cursor;
use quintet_platform::http::request_id;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::metering::find_quota;
use quintet_runtime::Action;
use quintet_storage::{Abort, Failure, Read, Snapshot, Timestamp, Uuid, WriteTx};
use serde_json::{Value, json};

use crate::changes::{Place, find};
use crate::context::Context;
use crate::engine::{on_runner, refusal_of as runner_refusal};
use crate::life;
use crate::model::{RunId, RunState, TenantId};
use crate::queries::{self, Filter};
use crate::quotas;
use crate::refusal::Refusal;
use crate::submission::{self, Submit};
use crate::tables::{DESCRIPTIONS, RUNS, RunRow};
use crate::terms;
use answer::{Answer, answered, refuse, tell};
pub(crate) use input::quotas as read_quotas;
use output::Used;
pub(crate) use output::quotas as show_quotas;
use request::{Asked, ask, failed, refusal_of, write};
use routes::*;
pub use routes::{ROUTES, Route};

/// The usual and the largest page.
const PAGE_DEFAULT: u64 = 50;
const PAGE_MAX: i64 = 200;
/// The longest wait for an end, in seconds.
const WAIT_MAX: i64 = 60;
const DAY_MICROS: i64 = 86_400_000_000;

/// The listener of runs.
pub fn routes(context: Context) -> Router {
    Router::new()
        .route(HEALTH.path, get(get_health))
        .route(OPENAPI.path, get(describe::get_openapi))
        .route(LLMS.path, get(describe::get_llms))
        .route(RUN_LIST.path, get(list_runs).post(submit_run))
        .route(RUN_GET.path, get(get_run).delete(delete_run))
        .route(RUN_RESULT.path, get(reading::get_result))
        .route(RUN_LOGS.path, get(reading::get_logs))
        .route(RUN_UTILIZATION.path, get(reading::get_utilization))
        .route(RUN_PAUSE.path, post(pause_run))
        .route(RUN_RESUME.path, post(resume_run))
        .route(RUN_STOP.path, post(stop_run))
        .route(RUN_KILL.path, post(kill_run))
        .route(QUOTAS_GET.path, get(get_quotas).put(put_quotas))
        .route(USAGE_GET.path, get(get_usage))
        .fallback(async || refuse(&Refusal::NotFound))
        .method_not_allowed_fallback(async || refuse(&Refusal::MethodNotAllowed))
        .layer(middleware::from_fn(tell))
        .layer(middleware::from_fn(request_id::assign))
        .with_state(context)
}

/// The answer to a request whose handler panicked.
#[must_use]
pub fn panic_answer() -> Response {
    refuse(&Refusal::InternalError)
}

async fn get_health(State(context): State<Context>) -> Response {
    let read = context.store.read();
    let nowhere = (TenantId(Uuid::nil()), RunId(Uuid::nil()));
    let is_database_up = read.contains(&RUNS, &nowhere).is_ok() && context.store.stop_reason().is_none();
    let word = |is_up: bool| if is_up { "up" } else { "down" };
    let is_engine_up = context.is_engine_up();
    let status = if is_database_up && is_engine_up { "ok" } else { "degraded" };
    let busy = queries::busy(&read).unwrap_or(0);
    let health = json!({
        "status": status, "database": word(is_database_up), "cache": word(is_database_up),
        "engine": word(is_engine_up), "workers": {"total": context.settings.workers, "busy": busy},
    });
    Answer::json(200, &health).into_response()
}

async fn submit_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_submit_run(&context, request).await)
}

async fn try_submit_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &RUN_SUBMIT).await?;
    let tenant_id = asked.tenant_id;
    let key_id = Some(asked.caller.key_id.clone());
    let submit = Submit { key_id, ..input::submit(asked.json().await?, &context.settings.egress)? };
    let ceilings = context.settings.ceilings.clone();
    // The calendar is read now, and only looked up within the transaction.
    quotas::hours(&context.store.read(), tenant_id).map_err(|failure| failed(&failure))?;
    let verb = move |tx: &mut WriteTx<'_>, now| submission::submit(tx, now, tenant_id, &ceilings, submit);
    let (run_id, row) = write(context, verb).await?;
    context.clock.wake();
    context.changed();
    Ok(Answer::json(202, &output::submitted(run_id, &row)))
}

async fn list_runs(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_runs(&context, request).await)
}

async fn try_list_runs(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &RUN_LIST).await?;
    let limit = asked.integer("limit", 1, PAGE_MAX)?.unwrap_or(PAGE_DEFAULT);
    let names = RunState::ALL.map(RunState::name);
    let state = asked.one_of("state", &names)?;
    let state = RunState::ALL.into_iter().find(|known| Some(known.name()) == state);
    let workflow_id = match asked.query.take("workflow_id") {
        None => None,
        Some(text) => Some(parse_ulid(&text).ok_or_else(|| Refusal::field("workflow_id", "must be a ULID"))?),
    };
    let filter = Filter {
        state,
        tag: asked.query.take("tag"),
        name: asked.query.take("name"),
        image: asked.query.take("image"),
        workflow_id: workflow_id.map(Uuid::into_bytes),
        submitted_after: asked.instant("submitted_after")?,
        submitted_before: asked.instant("submitted_before")?,
    };
    let kind = format!("runs {filter:?}");
    let after = match asked.query.take("cursor") {
        None => None,
        Some(text) => {
            let position = cursor::decode(&kind, &text).ok().and_then(|bytes| Uuid::from_slice(&bytes).ok());
            Some(RunId(position.ok_or_else(|| Refusal::field("cursor", "is not a cursor of this list"))?))
        }
    };
    let read = context.store.read();
    let limit = usize::try_from(limit).unwrap_or(1);
    let (runs, next) =
        queries::list(&read, asked.tenant_id, &filter, after, limit).map_err(|failure| failed(&failure))?;
    let now = context.clock.now();
    let hours = quotas::hours(&read, asked.tenant_id).map_err(|failure| failed(&failure))?;
    let mut items = Vec::with_capacity(runs.len());
    for (run_id, row) in runs {
        let description = read.get(&DESCRIPTIONS, &(asked.tenant_id, run_id)).map_err(|failure| failed(&failure))?;
        let standing = queries::listed(&hours, now, &row);
        items.push(output::run(now, run_id, &row, description.as_ref(), &standing));
    }
    let next = next.map(|run_id| cursor::encode(&kind, run_id.0.as_bytes()));
    Ok(Answer::json(200, &json!({"items": items, "next_cursor": next})))
}

/// A run with what it waits for.
fn view(context: &Context, place: Place, row: &RunRow) -> Result<Value, Refusal> {
    let (read, now) = context.store.read_now(context.clock.now());
    let found = read.get(&DESCRIPTIONS, &place).and_then(|description| {
        let workers = u64::from(context.settings.workers);
        let (ceilings, is_up) = (&context.settings.ceilings, context.is_engine_up());
        Ok((description, queries::standing(&read, now, place, row, ceilings, workers, is_up)?))
    });
    let (description, standing) = found.map_err(|failure| failed(&failure))?;
    Ok(output::run(now, place.1, row, description.as_ref(), &standing))
}

/// The run of a request's path.
fn run_of(context: &Context, place: Place) -> Result<RunRow, Refusal> {
    find(&context.store.read(), place).map_err(|failure| failed(&failure))?.ok_or(Refusal::NotFound)
}

async fn get_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_run(&context, request).await)
}

async fn try_get_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &RUN_GET).await?;
    let wait_seconds = asked.integer("wait", 1, WAIT_MAX)?;
    let place = asked.place()?;
    let until = Instant::now() + Duration::from_secs(wait_seconds.unwrap_or(0));
    let mut changes = context.changes.subscribe();
    let row = loop {
        let is_stopping = *changes.borrow_and_update();
        let row = run_of(context, place)?;
        let left = until.saturating_duration_since(Instant::now());
        if row.state.is_terminal() || left.is_zero() || is_stopping {
            break row;
        }
        let _ = tokio::time::timeout(left, changes.changed()).await;
    };
    Ok(Answer::json(200, &view(context, place, &row)?))
}

async fn delete_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_delete_run(&context, request).await)
}

async fn try_delete_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let place = ask(context, request, &RUN_DELETE).await?.place()?;
    write(context, move |tx, now| life::delete(tx, now, place)).await?;
    context.clock.wake();
    context.changed();
    Ok(Answer::json(200, &json!({"track_id": ulid(place.1.0), "deleted": true})))
}

async fn pause_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_pause_run(&context, request).await)
}

async fn try_pause_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &RUN_PAUSE).await?;
    let place = asked.place()?;
    let _turn = context.control_of(place.1).await;
    let row = control(context, place, &[RunState::Running], Action::Pause).await?;
    noted(context, move |tx, now| life::paused(tx, now, place, row.starts)).await
}

async fn resume_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_resume_run(&context, request).await)
}

async fn try_resume_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &RUN_RESUME).await?;
    let place = asked.place()?;
    let _turn = context.control_of(place.1).await;
    let row = control(context, place, &[RunState::Paused], Action::Resume).await?;
    let pause = row.paused_at.map_or(0, |since| context.clock.now().as_micros().saturating_sub(since.as_micros()));
    let paused_micros = row.paused_micros.saturating_add(u64::try_from(pause).unwrap_or(0));
    noted(context, move |tx, now| life::resumed(tx, now, place, row.starts, paused_micros)).await
}

async fn stop_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_stop_run(&context, request).await)
}

async fn try_stop_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &RUN_STOP).await?;
    let place = asked.place()?;
    // Its end is not noted before this is: it would not be known that it was told to stop.
    let _turn = context.control_of(place.1).await;
    control(context, place, &[RunState::Running], Action::Stop).await?;
    noted(context, move |tx, now| life::stopping(tx, now, place)).await
}

async fn kill_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_kill_run(&context, request).await)
}

async fn try_kill_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &RUN_KILL).await?;
    let place = asked.place()?;
    let _turn = context.control_of(place.1).await;
    control(context, place, &[RunState::Running, RunState::Paused], Action::Kill).await?;
    Ok(Answer::nothing())
}

/// Does something to the container of a run in one of these states.
async fn control(context: &Context, place: Place, states: &[RunState], action: Action) -> Result<RunRow, Refusal> {
    let row = life::in_state(&context.store.read(), place, states).map_err(refusal_of)?;
    let runner = context.runner.as_ref().ok_or(Refusal::EngineUnavailable)?;
    let id = context.container_id(place.1, row.starts).ok_or(Refusal::InternalError)?;
    on_runner(runner, move |runner| runner.control(&id, action)).await.map_err(|error| runner_refusal(&error))?;
    Ok(row)
}

/// Notes what was done to a container. Should the store not take it, the engine finds out from the runner.
async fn noted<T: Send + 'static>(
    context: &Context,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
) -> Result<Answer, Refusal> {
    let outcome = write(context, verb).await;
    if outcome.is_err() {
        context.doubt();
    }
    context.changed();
    outcome.map(|_| Answer::nothing())
}

async fn get_quotas(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_quotas(&context, request).await)
}

async fn try_get_quotas(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &QUOTAS_GET).await?;
    let (read, now) = context.store.read_now(context.clock.now());
    quotas_view(&read, now, asked.tenant_id, context)
}

fn quotas_view(read: &impl Read, now: Timestamp, tenant_id: TenantId, context: &Context) -> Result<Answer, Refusal> {
    let found = quotas::effective(read, tenant_id, &context.settings.ceilings);
    Ok(Answer::json(200, &output::quotas(now, &found.map_err(|failure| failed(&failure))?)))
}

async fn put_quotas(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_quotas(&context, request).await)
}

async fn try_put_quotas(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &QUOTAS_PUT).await?;
    let tenant_id = asked.tenant_id;
    let set = input::quotas(asked.json().await?, &context.settings.ceilings)?;
    let verb = move |tx: &mut WriteTx<'_>, now| Ok(quotas::set(tx, now, tenant_id, set)?);
    write(context, verb).await?;
    context.clock.wake();
    context.changed();
    let (read, now) = context.store.read_now(context.clock.now());
    quotas_view(&read, now, tenant_id, context)
}

async fn get_usage(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_usage(&context, request).await)
}

async fn try_get_usage(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked: Asked = ask(context, request, &USAGE_GET).await?;
    let (read, now) = context.store.read_now(context.clock.now());
    usage_view(context, &read, now, &asked.caller).map_err(|failure| failed(&failure))
}

fn usage_view(context: &Context, read: &Snapshot, now: Timestamp, caller: &Caller) -> Result<Answer, Failure> {
    let tenant_id = TenantId(caller.tenant_id);
    let (load, day) = quotas::used(read, tenant_id, now)?;
    let calls = context.meter.usage(read, Service::Runs, caller.root_tenant_id, now);
    let used = Used {
        quotas: &quotas::effective(read, tenant_id, &context.settings.ceilings)?.quotas,
        terms: &terms::of(read, &caller.key_id)?,
        meter: terms::meter(read, &caller.key_id)?,
        load,
        day,
        midnight: Timestamp::from_micros((crate::model::utc_day(now) + 1) * DAY_MICROS),
        expires_at: caller.expires_at,
        calls: find_quota(read, caller.root_tenant_id, Service::Runs)?,
        calls_used: calls.calls,
        next_month: calls.ends_at,
    };
    Ok(Answer::json(200, &output::usage(&used)))
}
