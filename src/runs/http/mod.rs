//! Runs over HTTP: the routes on one screen, thin handlers below.
//!
//! Reading order: `routes` (the table), this file, `request` (the way of a request), `input`, `output`, `answer` ·
//! `reading` (results, logs, samples) · `describe` (what the service says of itself).

mod answer;
mod describe;
mod input;
mod output;
mod reading;
mod request;
mod routes;

#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::{get, post};
use quintet_platform::cursor;
use quintet_platform::http::request_id;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_storage::{Failure, Read, Timestamp, Uuid, WriteTx};
use serde_json::{Value, json};

use crate::allowances::quotas;
use crate::containers::list::{Filter, list};
use crate::containers::model::{Description, Run};
use crate::containers::queue::{Machine, listed, scheduling};
use crate::containers::submission::{Submit, submit};
use crate::containers::{control, descriptions, find, hours, loads, removal, wait};
use crate::context::Context;
use crate::model::{RunId, RunKey, TenantId};
use crate::refusal::Refusal;
use crate::states::RunState;
use crate::usage::usage;
use answer::{Answer, answered, refuse, tell};
pub(crate) use input::quotas as read_quotas;
pub(crate) use output::quotas as show_quotas;
use request::{WRITER_TIME, ask, failed, refusal_of, write};
use routes::*;
pub use routes::{ROUTES, Route};

/// The usual and the largest page.
const PAGE_DEFAULT: u64 = 50;
const PAGE_MAX: i64 = 200;
/// The longest wait for an end, in seconds.
const WAIT_MAX: i64 = 60;

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
    let is_database_up = find(&read, nowhere).is_ok() && context.store.stop_reason().is_none();
    let word = |is_up: bool| if is_up { "up" } else { "down" };
    let is_engine_up = context.is_engine_up();
    let status = if is_database_up && is_engine_up { "ok" } else { "degraded" };
    let busy = loads::busy(&read).unwrap_or(0);
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
    let egress = context.settings.egress.clone();
    let wanted = asked.json(context, move |json| input::submit(json, &egress)).await?;
    let wanted = Submit { key_id, ..wanted };
    let ceilings = context.settings.ceilings.clone();
    // The calendar is read now, and only looked up within the transaction.
    quotas::hours(&context.store.read(), tenant_id).map_err(|failure| failed(&failure))?;
    let verb = move |tx: &mut WriteTx<'_>, now| submit(tx, now, tenant_id, &ceilings, wanted);
    let (run_id, run) = write(context, verb).await?;
    Ok(Answer::json(202, &output::submitted(run_id, &run)))
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
        workflow_id,
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
    let (tenant_id, limit) = (asked.tenant_id, usize::try_from(limit).unwrap_or(1));
    let page = move |context: &Context| Ok(list_page(context, tenant_id, &filter, after, limit, &kind)?);
    Ok(Answer::text(200, context.look(page).await.map_err(refusal_of)?))
}

fn list_page(
    context: &Context,
    tenant_id: TenantId,
    filter: &Filter,
    after: Option<RunId>,
    limit: usize,
    kind: &str,
) -> Result<String, Failure> {
    let read = context.store.read();
    let page = list(&read, tenant_id, filter, after, limit)?;
    let (now, hours) = (context.clock.now(), quotas::hours(&read, tenant_id)?);
    let item = |(run_id, run, description): (RunId, Run, Option<Description>)| {
        output::run(now, run_id, &run, description.as_ref(), &listed(&hours, now, &run))
    };
    let items: Vec<Value> = page.runs.into_iter().map(item).collect();
    let next = page.next.map(|run_id| cursor::encode(kind, run_id.0.as_bytes()));
    Ok(json!({"items": items, "next_cursor": next}).to_string())
}

/// A run with what it waits for.
fn view(context: &Context, run_key: RunKey, run: &Run) -> Result<Value, Failure> {
    let (read, now) = context.store.read_now(context.clock.now());
    let machine = Machine {
        workers: u64::from(context.settings.workers),
        ceilings: &context.settings.ceilings,
        is_engine_up: context.is_engine_up(),
    };
    let description = descriptions::get(&read, run_key)?;
    let scheduling = scheduling(&read, now, run_key, run, machine)?;
    Ok(output::run(now, run_key.1, run, description.as_ref(), &scheduling))
}

async fn get_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_run(&context, request).await)
}

async fn try_get_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &RUN_GET).await?;
    let wait_seconds = asked.integer("wait", 1, WAIT_MAX)?;
    let run_key = asked.run_key()?;
    let at_most = Duration::from_secs(wait_seconds.unwrap_or(0));
    let run = wait(context, run_key, at_most).await.map_err(refusal_of)?;
    let told = if run.state == RunState::Scheduled {
        // Its place in the queue is counted.
        context.look(move |context| Ok(view(context, run_key, &run)?)).await.map_err(refusal_of)?
    } else {
        view(context, run_key, &run).map_err(|failure| failed(&failure))?
    };
    Ok(Answer::json(200, &told))
}

async fn delete_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_delete_run(&context, request).await)
}

async fn try_delete_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let run_key = ask(context, request, &RUN_DELETE).await?.run_key()?;
    write(context, move |tx, now| removal::delete(tx, now, run_key)).await?;
    Ok(Answer::json(200, &json!({"track_id": ulid(run_key.1.0), "deleted": true})))
}

async fn pause_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_pause_run(&context, request).await)
}

async fn try_pause_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let run_key = ask(context, request, &RUN_PAUSE).await?.run_key()?;
    control::pause(context, run_key, WRITER_TIME).await.map_err(refusal_of)?;
    Ok(Answer::nothing())
}

async fn resume_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_resume_run(&context, request).await)
}

async fn try_resume_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let run_key = ask(context, request, &RUN_RESUME).await?.run_key()?;
    control::resume(context, run_key, WRITER_TIME).await.map_err(refusal_of)?;
    Ok(Answer::nothing())
}

async fn stop_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_stop_run(&context, request).await)
}

async fn try_stop_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let run_key = ask(context, request, &RUN_STOP).await?.run_key()?;
    control::stop(context, run_key, WRITER_TIME).await.map_err(refusal_of)?;
    Ok(Answer::nothing())
}

async fn kill_run(State(context): State<Context>, request: Request) -> Response {
    answered(try_kill_run(&context, request).await)
}

async fn try_kill_run(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let run_key = ask(context, request, &RUN_KILL).await?.run_key()?;
    control::kill(context, run_key).await.map_err(refusal_of)?;
    Ok(Answer::nothing())
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
    let ceilings = context.settings.ceilings.clone();
    let set = asked.json(context, move |json| input::quotas(json, &ceilings)).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| Ok(hours::set_quotas(tx, now, tenant_id, set)?);
    write(context, verb).await?;
    let (read, now) = context.store.read_now(context.clock.now());
    quotas_view(&read, now, tenant_id, context)
}

async fn get_usage(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_usage(&context, request).await)
}

async fn try_get_usage(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let asked = ask(context, request, &USAGE_GET).await?;
    let (read, now) = context.store.read_now(context.clock.now());
    let usage = usage(context, &read, now, &asked.caller).map_err(|failure| failed(&failure))?;
    Ok(Answer::json(200, &output::usage(&usage)))
}
