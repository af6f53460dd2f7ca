//! One node of a workflow: how it stands, deciding its gate, having it retried.

use quintet_platform::access::find_key;
use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, Route, failed, json as success};
use quintet_storage::{Abort, WriteTx};

use super::super::model::{Decision, NO_NODE, NO_WORKFLOW, Verdict};
use super::super::rows::{attempts, load_told, output, spec};
use super::super::view::{self, NodeFacts};
use super::super::{decide as deciding, retry as retrying};
use super::form::{read_comment, read_nothing};
use super::path::{NODE, WORKFLOW, node_ref, workflow_key};
use crate::dialect::{Answered, Call};
use crate::refusal::Refusal;

pub(super) const GET: Route = Route::get("get_workflow_node", "/api/v1/workflows/{workflow_id}/nodes/{ref}")
    .permission("svc_run_read")
    .summary("How a node stands, with its attempts and its output")
    .segments(&[WORKFLOW, NODE])
    .successes(&[success(200, "WorkflowNodeDetail")])
    .codes(&["busy"]);
pub(super) const RETRY: Route = Route::post("retry_workflow_node", "/api/v1/workflows/{workflow_id}/nodes/{ref}/retry")
    .permission("svc_run_submit")
    .summary("Have an ended node wait for its edges again, with all that lies downstream of it")
    .segments(&[WORKFLOW, NODE])
    .body(Content::OptionalJson("Nothing"))
    .successes(&[success(200, "WorkflowNodeRetried")])
    .codes(&["limit_reached", "node_not_terminal", "workflow_quota_exceeded"]);
pub(super) const APPROVE: Route =
    Route::post("approve_workflow_node", "/api/v1/workflows/{workflow_id}/nodes/{ref}/approve")
        .permission("svc_run_control")
        .summary("Approve an open gate: its node has succeeded")
        .segments(&[WORKFLOW, NODE])
        .body(Content::OptionalJson("WorkflowDecision"))
        .successes(&[success(200, "WorkflowNodeDecided")])
        .codes(&["invalid_state", "not_an_approval"]);
pub(super) const REJECT: Route =
    Route::post("reject_workflow_node", "/api/v1/workflows/{workflow_id}/nodes/{ref}/reject")
        .permission("svc_run_control")
        .summary("Reject an open gate: its node has failed")
        .segments(&[WORKFLOW, NODE])
        .body(Content::OptionalJson("WorkflowDecision"))
        .successes(&[success(200, "WorkflowNodeDecided")])
        .codes(&["invalid_state", "not_an_approval"]);

pub(super) async fn get(call: Call) -> Answered {
    let (key, reference, context) = (workflow_key(&call)?, node_ref(&call)?, call.context.clone());
    let read = move || {
        let read = context.store.read();
        let live = load_told(&read, key)?.ok_or(NO_WORKFLOW)?;
        let place = live.graph.place(&reference).ok_or(NO_NODE)?;
        let node_key = live.node_key(place);
        let facts = NodeFacts {
            image: spec(&read, node_key)?.map(|spec| spec.image),
            attempts: attempts(&read, node_key)?,
            output: output(&read, node_key)?,
        };
        let told = view::node_detail(&live, place, facts).ok_or(NO_NODE)?;
        Ok::<_, Abort<Refusal>>(to_compact(&told))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

pub(super) async fn retry(call: Call) -> Answered {
    let (key, reference) = (workflow_key(&call)?, node_ref(&call)?);
    let mut change = call.change().await?;
    read_nothing(change.optional_json()?)?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let reset = retrying::retry(tx, now, key, &reference)?;
        let message = match reset.len() {
            1 => "the node is retried".to_owned(),
            count => format!("the node is retried, with {} downstream of it", count - 1),
        };
        let told = Json::object([
            ("status", Json::from("ok")),
            ("message", message.into()),
            ("reset", view::texts(reset.iter().map(String::as_str))),
        ]);
        Ok(Answer::json(200, to_compact(&told)))
    };
    change.write(verb).await
}

pub(super) async fn approve(call: Call) -> Answered {
    decide(call, Verdict::Approved).await
}

pub(super) async fn reject(call: Call) -> Answered {
    decide(call, Verdict::Rejected).await
}

async fn decide(call: Call, verdict: Verdict) -> Answered {
    let (key, reference) = (workflow_key(&call)?, node_ref(&call)?);
    let key_id = call.caller.key_id.clone();
    let known = find_key(&call.snapshot(), &key_id).map_err(|failure| failed::<Refusal>(&failure))?;
    // Keys of an authorization system outside are known by their ids alone.
    let decided_by = known.map_or(key_id, |record| record.label);
    let mut change = call.change().await?;
    let comment = read_comment(change.optional_json()?)?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let decision = Decision { verdict, comment, decided_at: now, decided_by };
        let state = deciding::decide(tx, now, key, &reference, decision)?;
        let told = Json::object([
            ("status", Json::from("ok")),
            ("workflow_id", ulid(key.1.0).into()),
            ("ref", reference.as_str().into()),
            ("state", state.name().into()),
        ]);
        Ok(Answer::json(200, to_compact(&told)))
    };
    change.write(verb).await
}
