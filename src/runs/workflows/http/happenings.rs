//! What happened to a workflow: a page of events, or all of them as they come.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Parameter, Route, Shape, media, refusal_of};
use quintet_storage::Abort;

use super::super::events::{Follower, Piece, follow, page, refs};
use super::super::model::{NO_WORKFLOW, WorkflowState};
use super::super::rows::find;
use super::path::{WORKFLOW, workflow_key};
use crate::dialect::{Answered, Call};
use crate::refusal::Refusal;

const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

const SINCE: Parameter = Parameter::new(
    "since",
    Shape::Integer { min: 0, max: i64::MAX, default: Some(0) },
    "Only events with a higher id.",
);
const LIMIT: Parameter =
    Parameter::new("limit", Shape::Integer { min: 1, max: 1_000, default: Some(200) }, "The most events.");
const FOLLOW: Parameter = Parameter::new(
    "follow",
    Shape::Word(&["true", "false"], "false"),
    "Server-sent events instead: an `event` for each event, whose id is a `since`, then an `end` once the workflow has \
     ended.",
);

pub(super) const EVENTS: Route = Route::get("get_workflow_events", "/api/v1/workflows/{workflow_id}/events")
    .permission("svc_run_read")
    .summary("What happened to a workflow and its nodes, in order")
    .segments(&[WORKFLOW])
    .parameters(&[SINCE, LIMIT, FOLLOW])
    .successes(&[media(
        200,
        &[
            ("application/json", r##"{"$ref":"#/components/schemas/WorkflowEvents"}"##),
            ("text/event-stream", r#"{"type":"string"}"#),
        ],
    )
    .about("Events; with follow, server-sent events")])
    .codes(&["busy"]);

pub(super) async fn events(mut call: Call) -> Answered {
    let since = call.integer(&SINCE)?.and_then(|since| u64::try_from(since).ok()).unwrap_or(0);
    let limit = call.integer(&LIMIT)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1);
    let is_followed = call.word(&FOLLOW)? == Some("true");
    let (key, context) = (workflow_key(&call)?, call.context.clone());
    if is_followed {
        let follower = follow(&context, key, since).map_err(refusal_of)?;
        return Ok(Answer::stream(200, STREAM, pieces(follower)));
    }
    let read = move || {
        let read = context.store.read();
        find(&read, key)?.ok_or(NO_WORKFLOW)?;
        let events: Vec<Json> =
            page(&read, key, since, limit, &refs(&read, key)?)?.into_iter().map(|(_, event)| event).collect();
        Ok::<_, Abort<Refusal>>(to_compact(&events.into()))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, read).await?))
}

/// What somebody who follows is told, as server-sent events.
fn pieces(follower: Follower) -> Body {
    Body::from_stream(stream::unfold(follower, |mut follower| async move {
        let text = match follower.piece().await? {
            Piece::Events(events) => {
                let event = |(number, event): &(u64, Json)| {
                    format!("id: {number}\nevent: event\ndata: {}\n\n", to_compact(event))
                };
                events.iter().map(event).collect::<String>()
            }
            Piece::Sign => ": still here\n\n".to_owned(),
            Piece::End(state) => {
                let state = state.map_or("deleted", WorkflowState::name);
                let told = Json::object([("state", Json::from(state))]);
                format!("event: end\ndata: {}\n\n", to_compact(&told))
            }
        };
        Some((Ok::<Bytes, std::convert::Infallible>(text.into()), follower))
    }))
}
