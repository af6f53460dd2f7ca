//! Submitting workflows, reading them, pausing and cancelling them.

use std::time::Duration;

use quintet_platform::ids::{parse_ulid, ulid};
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, CURSOR, Content, KeyRule, Page, Parameter, Route, Shape, failed, json as success, limit, refusal_of,
};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::super::list::{self, Filter};
use super::super::model::{NO_WORKFLOW, Node, NodeState, Workflow, WorkflowState};
use super::super::rows::{Live, load_told, output, refs_in};
use super::super::wait::wait;
use super::super::{control, create as creating, view};
use super::form::{read_new, read_nothing};
use super::path::{WORKFLOW, workflow_key};
use crate::allowances::quotas;
use crate::context::Context;
use crate::dialect::{Answered, Call, tenant_of};
use crate::form::NAME_CHARS_MAX;
use crate::lists::write_page;
use crate::model::{TenantId, WorkflowId, WorkflowKey};
use crate::refusal::Refusal;

const NAME_SHAPE: Shape = Shape::Text { min: 1, max: NAME_CHARS_MAX };
const TEMPLATE: Parameter = Parameter::new("template_id", Shape::Ulid, "Workflows of this template.");
const TRIGGER: Parameter = Parameter::new("trigger_id", Shape::Ulid, "Workflows that this trigger launched.");
const STATE: Parameter = Parameter::new("state", Shape::Word(&WorkflowState::NAMES, ""), "Workflows in this state.");
const TAG: Parameter = Parameter::new("tag", NAME_SHAPE, "Workflows with this label.");
const NAME: Parameter = Parameter::new("name", NAME_SHAPE, "Workflows of this name.");
const AFTER: Parameter =
    Parameter::new("submitted_after", Shape::Instant, "Workflows submitted at this instant or later.");
const BEFORE: Parameter =
    Parameter::new("submitted_before", Shape::Instant, "Workflows submitted before this instant.");
const LIMIT: Parameter = limit(50, 200);
const WAIT: Parameter = Parameter::new(
    "wait",
    Shape::integer(1, 60),
    "Answer once the workflow has ended, or after so many seconds as it stands then.",
);

pub(super) const SUBMIT: Route = Route::post("submit_workflow", "/api/v1/workflows")
    .permission("svc_run_submit")
    .summary("Submit a graph of containers and approval gates; its nodes count as runs of the day")
    .body(Content::Json("WorkflowSubmit"))
    .successes(&[success(202, "WorkflowSubmitted")])
    .makes("workflow_id", "workflow_id")
    .key(KeyRule::Optional)
    .codes(&[
        "daily_quota_exceeded",
        "image_not_allowed",
        "invalid_graph",
        "limit_reached",
        "too_many_nodes",
        "unknown_webhook_key",
        "url_not_allowed",
        "workflow_quota_exceeded",
    ]);
pub(super) const LIST: Route = Route::get("list_workflows", "/api/v1/workflows")
    .permission("svc_run_read")
    .summary("List workflows, newest first, with how many of their nodes are in each state")
    .parameters(&[TEMPLATE, TRIGGER, STATE, TAG, NAME, AFTER, BEFORE, LIMIT, CURSOR])
    .successes(&[success(200, "WorkflowPage")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_workflow", "/api/v1/workflows/{workflow_id}")
    .permission("svc_run_read")
    .summary("How a workflow and its nodes stand")
    .segments(&[WORKFLOW])
    .parameters(&[WAIT])
    .successes(&[success(200, "Workflow")])
    .codes(&["busy"]);
pub(super) const RESULT: Route = Route::get("get_workflow_result", "/api/v1/workflows/{workflow_id}/result")
    .permission("svc_run_read")
    .summary("How a workflow ended, with the outputs of its nodes")
    .segments(&[WORKFLOW])
    .successes(&[success(200, "WorkflowResult")])
    .codes(&["busy", "not_terminal"]);
pub(super) const CANCEL: Route = Route::post("cancel_workflow", "/api/v1/workflows/{workflow_id}/cancel")
    .permission("svc_run_control")
    .summary("End an active workflow: its runs are killed, what has not ended is cancelled")
    .segments(&[WORKFLOW])
    .body(Content::OptionalJson("Nothing"))
    .successes(&[success(200, "WorkflowControlled")])
    .codes(&["invalid_state"]);
pub(super) const PAUSE: Route = Route::post("pause_workflow", "/api/v1/workflows/{workflow_id}/pause")
    .permission("svc_run_control")
    .summary("Launch nothing more of a running workflow; what runs goes on, gates may be decided")
    .segments(&[WORKFLOW])
    .body(Content::OptionalJson("Nothing"))
    .successes(&[success(200, "WorkflowControlled")])
    .codes(&["invalid_state"]);
pub(super) const RESUME: Route = Route::post("resume_workflow", "/api/v1/workflows/{workflow_id}/resume")
    .permission("svc_run_control")
    .summary("Have a paused workflow go on")
    .segments(&[WORKFLOW])
    .body(Content::OptionalJson("Nothing"))
    .successes(&[success(200, "WorkflowControlled")])
    .codes(&["invalid_state"]);

pub(super) async fn submit(call: Call) -> Answered {
    let tenant_id = tenant_of(&call);
    let mut change = call.change().await?;
    change.begin()?;
    let new = read_new(change.json()?, &change.call).await?;
    // The calendar is read now, and only looked up within the transaction.
    let read = change.call.context.store.read();
    quotas::hours(&read, tenant_id).map_err(|failure| failed::<Refusal>(&failure))?;
    drop(read);
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let workflow_id = creating::create(tx, now, tenant_id, new)?;
        let told = Json::object([
            ("workflow_id", Json::from(ulid(workflow_id.0))),
            ("status", WorkflowState::Pending.name().into()),
        ]);
        Ok(Answer::json(202, to_compact(&told)))
    };
    change.write(verb).await
}

pub(super) async fn list(mut call: Call) -> Answered {
    let state = call.word(&STATE)?;
    let filter = Filter {
        template_id: call.text(&TEMPLATE)?.and_then(|text| parse_ulid(&text)),
        trigger_id: call.text(&TRIGGER)?.and_then(|text| parse_ulid(&text)),
        state: WorkflowState::ALL.into_iter().find(|known| Some(known.name()) == state),
        tag: call.text(&TAG)?,
        name: call.text(&NAME)?,
        submitted_after: call.instant(&AFTER)?,
        submitted_before: call.instant(&BEFORE)?,
    };
    let kind = format!("workflows {filter:?}");
    let page = call.page(&kind, &LIMIT)?;
    let (context, tenant_id) = (call.context.clone(), tenant_of(&call));
    let read = move || Ok(list_page(&context, tenant_id, &filter, &page, &kind)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

fn list_page(
    context: &Context,
    tenant_id: TenantId,
    filter: &Filter,
    asked: &Page<WorkflowId>,
    kind: &str,
) -> Result<String, Failure> {
    let read = context.store.read();
    let page = list::list(&read, tenant_id, filter, asked.after, asked.limit)?;
    write_page(kind, page.items, page.next, |id, workflow| {
        let failed = refs_in(&read, (tenant_id, id), &workflow, NodeState::Failed)?;
        Ok(view::item((tenant_id, id), &workflow, &failed))
    })
}

pub(super) async fn get(mut call: Call) -> Answered {
    let wait_seconds = call.integer(&WAIT)?.and_then(|seconds| u64::try_from(seconds).ok());
    let key = workflow_key(&call)?;
    wait(&call.context, key, Duration::from_secs(wait_seconds.unwrap_or(0))).await.map_err(refusal_of)?;
    let context = call.context.clone();
    let read = move || {
        let live = load_told(&context.store.read(), key)?.ok_or(NO_WORKFLOW)?;
        Ok::<_, Abort<Refusal>>(to_compact(&view::status(&live)))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

pub(super) async fn result(call: Call) -> Answered {
    let (key, context) = (workflow_key(&call)?, call.context.clone());
    let read = move || {
        let read = context.store.read();
        let live = load_told(&read, key)?.ok_or(NO_WORKFLOW)?;
        if !live.workflow.state.is_terminal() {
            return Err(Refusal::NotTerminal.into());
        }
        let mut nodes = Vec::with_capacity(live.nodes.len());
        for (place, node) in live.nodes.iter().enumerate() {
            let text = if node.has_output { output(&read, live.node_key(place))? } else { None };
            // A tree of JSON takes fifty times its text: there is one at a time.
            nodes.push(to_compact(&ended_node(&live, place, node, text)));
        }
        Ok::<_, Abort<Refusal>>(ended(&live, &nodes))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.readers, read).await?))
}

fn ended_node(live: &Live, place: usize, node: &Node, output: Option<String>) -> Json {
    Json::object([
        ("ref", Json::from(live.reference(place))),
        ("final_state", node.state.name().into()),
        ("exit_code", view::code(node.exit_code)),
        ("attempts", u64::from(node.attempt).into()),
        ("output", view::output(output)),
    ])
}

fn ended(live: &Live, nodes: &[String]) -> String {
    let workflow = &live.workflow;
    let ran = workflow.started_at.zip(workflow.finished_at);
    let micros = ran.map_or(0, |(start, end)| end.as_micros().saturating_sub(start.as_micros()));
    let text = |json: Json| to_compact(&json);
    format!(
        r#"{{"workflow_id":{},"state":{},"duration_seconds":{},"nodes":[{}],"failed_nodes":{}}}"#,
        text(ulid(live.key.1.0).into()),
        text(workflow.state.name().into()),
        text(view::seconds(micros)),
        nodes.join(","),
        text(view::texts(live.refs_in(NodeState::Failed))),
    )
}

pub(super) async fn cancel(call: Call) -> Answered {
    control(call, true, control::cancel).await
}

pub(super) async fn pause(call: Call) -> Answered {
    control(call, false, control::pause).await
}

pub(super) async fn resume(call: Call) -> Answered {
    control(call, false, control::resume).await
}

/// What is done to a workflow; below the disk reserve only what frees something is.
async fn control(
    call: Call,
    is_freeing: bool,
    verb: fn(&mut WriteTx<'_>, Timestamp, WorkflowKey) -> Result<Workflow, Abort<Refusal>>,
) -> Answered {
    let key = workflow_key(&call)?;
    let mut change = call.change().await?;
    read_nothing(change.optional_json()?)?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let workflow = verb(tx, now, key)?;
        let told = Json::object([
            ("status", Json::from("ok")),
            ("workflow_id", ulid(key.1.0).into()),
            ("state", workflow.state.name().into()),
        ]);
        Ok(Answer::json(200, to_compact(&told)))
    };
    change.freeing(is_freeing).write(verb).await
}
