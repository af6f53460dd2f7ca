//! How workflows and nodes are told, in answers and in deliveries alike.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::{Timestamp, Uuid};

use super::model::{Detail, Happened, Node, NodeKind, NodeReason, NodeState, Workflow};
use super::rows::Live;
use super::tables::EventRow;
use crate::model::WorkflowId;

/// An instant, or null.
pub(super) fn at(instant: Option<Timestamp>) -> Json {
    instant.map_or(Json::Null, |instant| rfc3339(instant).into())
}

pub(super) fn text(text: Option<&str>) -> Json {
    text.map_or(Json::Null, Json::from)
}

pub(super) fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Json {
    texts.into_iter().map(Json::from).collect::<Vec<_>>().into()
}

pub(super) fn id(id: Option<Uuid>) -> Json {
    id.map_or(Json::Null, |id| ulid(id).into())
}

pub(super) fn code(code: Option<i32>) -> Json {
    code.map_or(Json::Null, |code| i64::from(code).into())
}

pub(super) fn reason(reason: Option<NodeReason>) -> Json {
    text(reason.map(NodeReason::name))
}

/// An output as the JSON it is.
pub(super) fn output(text: Option<String>) -> Json {
    let limits = Limits { max_depth: Limits::DEPTH_MAX };
    text.and_then(|text| parse(text.as_bytes(), limits).ok()).unwrap_or(Json::Null)
}

/// The members that stand in lists and in a workflow of its own alike.
pub(super) fn head(key: crate::model::WorkflowKey, workflow: &Workflow) -> Vec<(&'static str, Json)> {
    let origin = &workflow.origin;
    vec![
        ("workflow_id", Json::from(ulid(key.1.0))),
        ("tenant_id", key.0.0.to_string().into()),
        ("name", text(workflow.name.as_deref())),
        ("state", workflow.state.name().into()),
        ("failure_policy", workflow.policy.name().into()),
        ("template_id", id(origin.template_id.map(Uuid::from_bytes))),
        ("template_version", origin.template_version.map_or(Json::Null, Json::from)),
        ("trigger_id", id(origin.trigger_id.map(Uuid::from_bytes))),
        ("scheduled_start", at(workflow.scheduled_start)),
        ("submitted_at", rfc3339(workflow.submitted_at).into()),
        ("started_at", at(workflow.started_at)),
        ("finished_at", at(workflow.finished_at)),
        ("tags", texts(workflow.tags.iter().map(String::as_str))),
    ]
}

/// WorkflowStatus.
pub(super) fn status(live: &Live) -> Json {
    let mut members = head(live.key, &live.workflow);
    members.push(("failed_nodes", texts(live.refs_in(NodeState::Failed))));
    members.push(("nodes", nodes(live)));
    members.push(("edges", edges(live)));
    Json::object(members)
}

/// An item of a list.
pub(super) fn item(key: crate::model::WorkflowKey, workflow: &Workflow, failed_nodes: &[String]) -> Json {
    let mut members = head(key, workflow);
    members.push(("failed_nodes", texts(failed_nodes.iter().map(String::as_str))));
    let counts = NodeState::ALL.iter().zip(workflow.told_counts());
    let counts = counts.map(|(state, count)| (state.name(), Json::from(u64::from(count))));
    members.push(("node_counts", Json::object(counts)));
    Json::object(members)
}

/// The nodes of a workflow, in the order of submission.
pub(super) fn nodes(live: &Live) -> Json {
    let node = |(place, node): (usize, &Node)| {
        Json::object([
            ("ref", Json::from(live.reference(place))),
            ("type", live.graph.nodes.get(place).map_or("", |known| known.kind.name()).into()),
            ("state", node.state.name().into()),
            ("attempt", u64::from(node.attempt).into()),
            ("current_track_id", id(node.current_run())),
            ("exit_code", code(node.exit_code)),
            ("reason", reason(node.reason)),
        ])
    };
    live.nodes.iter().enumerate().map(node).collect::<Vec<_>>().into()
}

fn edges(live: &Live) -> Json {
    let edge = |edge: &super::model::Edge| {
        Json::object([
            ("from_ref", Json::from(live.reference(super::rules::index(edge.from)))),
            ("to_ref", live.reference(super::rules::index(edge.to)).into()),
            ("condition", edge.condition.name().into()),
        ])
    };
    live.graph.edges.iter().map(edge).collect::<Vec<_>>().into()
}

/// What is known of a node besides its row.
pub(super) struct NodeFacts {
    pub(super) image: Option<String>,
    pub(super) attempts: Vec<Uuid>,
    pub(super) output: Option<String>,
}

/// WorkflowNodeDetail.
pub(super) fn node_detail(live: &Live, place: usize, facts: NodeFacts) -> Option<Json> {
    let (known, node) = (live.graph.nodes.get(place)?, live.nodes.get(place)?);
    let (retries, backoff) = match known.kind {
        NodeKind::Container { retries, backoff_seconds } => (retries, backoff_seconds),
        NodeKind::Gate { .. } => (0, 0),
    };
    let decision = node.decision.as_ref().map_or(Json::Null, |decision| {
        Json::object([
            ("decision", Json::from(decision.verdict.name())),
            ("comment", text(decision.comment.as_deref())),
            ("decided_at", rfc3339(decision.decided_at).into()),
            ("decided_by", decision.decided_by.as_str().into()),
        ])
    });
    let inputs = known.inputs_from.iter().map(|from| live.reference(super::rules::index(*from)));
    Some(Json::object([
        ("ref", Json::from(known.reference.as_str())),
        ("type", known.kind.name().into()),
        ("image", text(facts.image.as_deref())),
        ("state", node.state.name().into()),
        ("attempt", u64::from(node.attempt).into()),
        ("attempts", facts.attempts.into_iter().map(|id| Json::from(ulid(id))).collect::<Vec<_>>().into()),
        ("current_track_id", id(node.current_run())),
        ("exit_code", code(node.exit_code)),
        ("reason", reason(node.reason)),
        ("message", text(node.message.as_deref())),
        ("output", output(facts.output)),
        ("retries", u64::from(retries).into()),
        ("retry_backoff_seconds", u64::from(backoff).into()),
        ("retry_at", at(node.retry_at)),
        ("inputs_from", texts(inputs)),
        ("decision", decision),
        ("started_at", at(node.started_at)),
        ("finished_at", at(node.finished_at)),
    ]))
}

/// WorkflowEvent; `reference` says what a node is called.
pub(super) fn event(workflow_id: WorkflowId, number: u64, row: &EventRow, reference: impl Fn(u32) -> String) -> Json {
    let (node, state) = match row.happened {
        Happened::Workflow(state) => (None, state.name()),
        Happened::Node(place, state) => (Some(place), state.name()),
    };
    Json::object([
        ("id", Json::from(number)),
        ("workflow_id", ulid(workflow_id.0).into()),
        ("node_ref", node.map_or(Json::Null, |place| reference(place).into())),
        ("kind", if node.is_some() { "node" } else { "workflow" }.into()),
        ("to_state", state.into()),
        ("detail", detail(&row.detail, reference)),
        ("created_at", rfc3339(row.created_at).into()),
    ])
}

fn detail(detail: &Detail, reference: impl Fn(u32) -> String) -> Json {
    let number = |attempt: &u32| Json::from(u64::from(*attempt));
    match detail {
        Detail::Nothing => Json::object::<&str>([]),
        Detail::Reset => Json::object([("reason", Json::from("retry"))]),
        Detail::Launched { attempt, run_id } => {
            Json::object([("attempt", number(attempt)), ("track_id", ulid(Uuid::from_bytes(*run_id)).into())])
        }
        Detail::Opened { attempt } => Json::object([("attempt", number(attempt))]),
        Detail::Succeeded { attempt, exit_code, has_output } => Json::object([
            ("attempt", number(attempt)),
            ("exit_code", code(*exit_code)),
            ("has_output", (*has_output).into()),
        ]),
        Detail::Approved { attempt, comment } => Json::object([
            ("attempt", number(attempt)),
            ("decision", "approved".into()),
            ("comment", text(comment.as_deref())),
        ]),
        Detail::Retrying { attempt, exit_code, reason: why, retry_at } => Json::object([
            ("attempt", number(attempt)),
            ("exit_code", code(*exit_code)),
            ("reason", reason(*why)),
            ("retry_at", rfc3339(*retry_at).into()),
        ]),
        Detail::Failed { attempt, exit_code, reason: why, message } => Json::object([
            ("attempt", number(attempt)),
            ("exit_code", code(*exit_code)),
            ("reason", reason(*why)),
            ("message", text(message.as_deref())),
        ]),
        Detail::Skipped { reason: why, from } => {
            let mut members = vec![("reason", Json::from(why.name()))];
            members.extend(from.map(|from| ("from_ref", Json::from(reference(from)))));
            Json::object(members)
        }
    }
}

/// Microseconds as seconds, to the millisecond.
pub(super) fn seconds(micros: i64) -> Json {
    let millis = micros.max(0) / 1_000;
    let text = format!("{}.{:03}", millis / 1_000, millis % 1_000);
    parse(text.as_bytes(), Limits::default()).unwrap_or(Json::Null)
}
