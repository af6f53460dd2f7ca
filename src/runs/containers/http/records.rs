//! Runs as they stand: one, all that a filter takes, one less.

use std::time::Duration;

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::service::{
    self, Answer, CURSOR, Page, Parameter, Route, Shape, json as success, next_cursor, refusal_of,
};
use quintet_storage::{Abort, Failure, Timestamp};
use serde_json::{Map, Value, json};

use super::path::{RUN, run_key};
use super::words::IMAGE_CHARS_MAX;
use crate::allowances::quotas;
use crate::containers::list::{Filter, list as list_runs};
use crate::containers::model::{Description, Reason, Run};
use crate::containers::queue::{BlockedBy, Scheduling, listed, scheduling};
use crate::containers::{descriptions, removal, wait};
use crate::context::Context;
use crate::dialect::{Answered, Call, tenant_of};
use crate::form::NAME_CHARS_MAX;
use crate::model::{RunId, RunKey, TenantId};
use crate::states::RunState;
use crate::wire::{at, cores, seconds};

const STATE: Parameter = Parameter::new("state", Shape::Word(&RunState::NAMES, ""), "Runs in this state.");
const TAG: Parameter = Parameter::new("tag", NAME_SHAPE, "Runs with this label.");
const NAME: Parameter = Parameter::new("name", NAME_SHAPE, "Runs of this name.");
const IMAGE: Parameter =
    Parameter::new("image", Shape::Text { min: 1, max: IMAGE_CHARS_MAX }, "Runs of this image, as it was asked for.");
const WORKFLOW: Parameter = Parameter::new("workflow_id", Shape::Ulid, "Runs of this workflow.");
const AFTER: Parameter = Parameter::new("submitted_after", Shape::Instant, "Runs submitted at this instant or later.");
const BEFORE: Parameter = Parameter::new("submitted_before", Shape::Instant, "Runs submitted before this instant.");
const LIMIT: Parameter = service::limit(50, 200);
const WAIT: Parameter = Parameter::new(
    "wait",
    Shape::integer(1, 60),
    "Answer once the run has ended, or after so many seconds as it stands then.",
);
const NAME_SHAPE: Shape = Shape::Text { min: 1, max: NAME_CHARS_MAX };

pub(super) const LIST: Route = Route::get("list_runs", "/api/v1/runs")
    .permission("svc_run_read")
    .summary("List runs, newest first")
    .parameters(&[STATE, TAG, NAME, IMAGE, WORKFLOW, AFTER, BEFORE, LIMIT, CURSOR])
    .successes(&[success(200, "RunPage")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_run", "/api/v1/runs/{track_id}")
    .permission("svc_run_read")
    .summary("One run: its state, and what it waits for")
    .segments(&[RUN])
    .parameters(&[WAIT])
    .successes(&[success(200, "Run")])
    .codes(&["busy"]);
pub(super) const DELETE: Route = Route::delete("delete_run", "/api/v1/runs/{track_id}")
    .permission("svc_run_delete")
    .summary("Delete a run that has ended or has no slot yet, with everything that is kept of it")
    .segments(&[RUN])
    .successes(&[success(200, "RunDeleted")])
    .codes(&["run_active"]);

pub(super) async fn list(mut call: Call) -> Answered {
    let state = call.word(&STATE)?;
    let filter = Filter {
        state: RunState::ALL.into_iter().find(|known| Some(known.name()) == state),
        tag: call.text(&TAG)?,
        name: call.text(&NAME)?,
        image: call.text(&IMAGE)?,
        workflow_id: call.text(&WORKFLOW)?.and_then(|text| parse_ulid(&text)),
        submitted_after: call.instant(&AFTER)?,
        submitted_before: call.instant(&BEFORE)?,
    };
    let kind = format!("runs {filter:?}");
    let page = call.page(&kind, &LIMIT)?;
    let (context, tenant_id) = (call.context.clone(), tenant_of(&call));
    let read = move || Ok(list_page(&context, tenant_id, &filter, &page, &kind)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

fn list_page(
    context: &Context,
    tenant_id: TenantId,
    filter: &Filter,
    asked: &Page<RunId>,
    kind: &str,
) -> Result<String, Failure> {
    let read = context.store.read();
    let page = list_runs(&read, tenant_id, filter, asked.after, asked.limit)?;
    let (now, hours) = (context.clock.now(), quotas::hours(&read, tenant_id)?);
    let item = |(run_id, run, description): (RunId, Run, Option<Description>)| {
        write_run(now, run_id, &run, description.as_ref(), &listed(&hours, now, &run))
    };
    let items: Vec<Value> = page.runs.into_iter().map(item).collect();
    Ok(json!({"items": items, "next_cursor": next_cursor(kind, page.next.as_ref())?}).to_string())
}

pub(super) async fn get(mut call: Call) -> Answered {
    let wait_seconds = call.integer(&WAIT)?.and_then(|seconds| u64::try_from(seconds).ok());
    let run_key = run_key(&call)?;
    let at_most = Duration::from_secs(wait_seconds.unwrap_or(0));
    let run = wait(&call.context, run_key, at_most).await.map_err(refusal_of)?;
    let context = call.context.clone();
    let is_waiting = run.state == RunState::Scheduled;
    let read = move || Ok::<_, Abort<_>>(view(&context, run_key, &run)?);
    // The place of one that waits is counted.
    let told =
        if is_waiting { call.in_turn(&call.context.lookers, read).await? } else { read().map_err(refusal_of)? };
    Ok(Answer::value(200, &told))
}

/// A run with what it waits for.
fn view(context: &Context, run_key: RunKey, run: &Run) -> Result<Value, Failure> {
    let (read, now) = context.store.read_now(context.clock.now());
    let machine = context.machine(&read)?;
    let description = descriptions::get(&read, run_key)?;
    let scheduling = scheduling(&read, now, run_key, run, machine)?;
    Ok(write_run(now, run_key.1, run, description.as_ref(), &scheduling))
}

pub(super) async fn delete(call: Call) -> Answered {
    let run_key = run_key(&call)?;
    let change = call.change().await?;
    change
        .freeing(true)
        .write(move |tx, now| {
            removal::delete(tx, now, run_key)?;
            Ok(Answer::value(200, &json!({"track_id": ulid(run_key.1.0), "deleted": true})))
        })
        .await
}

/// A run as it is told.
fn write_run(
    now: Timestamp,
    run_id: RunId,
    run: &Run,
    description: Option<&Description>,
    scheduling: &Scheduling,
) -> Value {
    let env: Map<String, Value> = description
        .map(|description| description.env_names.iter().map(|name| (name.clone(), json!("***"))).collect())
        .unwrap_or_default();
    json!({
        "track_id": ulid(run_id.0), "name": run.name, "tags": run.tags, "image": run.image,
        "image_digest": run.image_digest, "command": description.map(|description| &description.command),
        "env": env, "state": run.state.name(), "reason": run.reason.map(Reason::name),
        "message": run.message, "exit_code": run.exit_code,
        "cpu_limit": cores(u64::from(run.limits.cpu_millicores)), "memory_limit_mb": run.limits.memory_mb,
        "timeout_seconds": run.limits.timeout_seconds, "clamped": run.clamped,
        "scheduled_start": at(run.scheduled_start), "expires_at": at(run.expires_at),
        "submitted_at": rfc3339(run.submitted_at), "queued_at": at(run.queued_at), "pulling_at": at(run.pulling_at),
        "started_at": at(run.started_at), "paused_at": at(run.paused_at), "finished_at": at(run.finished_at),
        "paused_seconds": seconds(run.paused_micros_at(now)),
        "workflow_id": run.workflow_id.map(ulid), "node_ref": run.node_ref,
        "attempt": run.attempt,
        "scheduling_info": {
            "eligible_start": rfc3339(scheduling.start.0), "working_hours_applied": scheduling.start.1,
            "queue_position": scheduling.position, "estimated_start": at(scheduling.estimated_start),
            "blocked_by": scheduling.blocked_by.map(BlockedBy::name),
        },
    })
}
