//! Pictures of workflows.

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use quintet_platform::service::{Answer, Fault, Route, Success, media};
use quintet_storage::Abort;

use super::super::model::NO_WORKFLOW;
use super::super::picture::of_workflow;
use super::path::{WORKFLOW, workflow_key};
use crate::dialect::{Answered, Call};
use crate::pictures::NoPicture;
use crate::refusal::Refusal;

const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");
/// It shows how things stand now.
const ANEW: HeaderValue = HeaderValue::from_static("no-store");
/// A picture that is opened by itself runs nothing, loads nothing, and belongs to no origin.
const SANDBOX: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

/// What a picture is answered with.
pub(crate) const PICTURE: Success = media(200, &[("image/svg+xml", r#"{"type":"string"}"#)]);

pub(super) const GRAPH: Route = Route::get("get_workflow_graph", "/api/v1/workflows/{workflow_id}/graph.svg")
    .permission("svc_run_read")
    .summary("A picture of a workflow: its nodes with their states, its edges with their conditions")
    .segments(&[WORKFLOW])
    .successes(&[PICTURE])
    .codes(&["busy", "invalid_state"]);

pub(super) async fn graph(call: Call) -> Answered {
    let (key, context) = (workflow_key(&call)?, call.context.clone());
    let read = move || Ok::<_, Abort<Refusal>>(of_workflow(&context.store.read(), key)?.ok_or(NO_WORKFLOW)?);
    let dot = call.in_turn(&call.context.lookers, read).await?;
    answer(&call, dot).await
}

/// Has a graph drawn.
///
/// # Errors
/// There is too much to draw, at the moment (`busy`) or ever (`invalid_state`).
pub(crate) async fn answer(call: &Call, dot: String) -> Answered {
    let drawn = call.context.settings.painter.0.paint(call.caller.tenant_id, dot).await;
    let svg = drawn.map_err(|unpainted| match unpainted {
        NoPicture::Busy => Refusal::Fault(Fault::Busy),
        NoPicture::TooLarge => Refusal::NotNow("the graph is too large for a picture"),
        NoPicture::Failed => Refusal::Fault(Fault::Internal),
    })?;
    let answer = Answer::other(200, SVG, svg).header(CACHE_CONTROL, ANEW);
    Ok(answer.header(CONTENT_SECURITY_POLICY, SANDBOX))
}
