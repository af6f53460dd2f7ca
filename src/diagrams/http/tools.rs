//! Diagrams as tools of the Model Context Protocol, at `/mcp`: what a tool takes, does and answers is its route's business
//! ([`quintet_platform::mcp`]).

use axum::body::Body;
use http::HeaderMap;
use quintet_platform::json::Json;
use quintet_platform::mcp::{self, Server, Tool};
use quintet_platform::service::{Content, Dialect as _, Endpoint, Endpoints, Route, json as success, nothing};

use super::dialect::{Answered, Diagrams, Visit};
use super::intake::take_in;
use super::picture::{X_RENDER_DEGRADED, X_RENDER_WARNING};

const SPEAK: Route = Route::post("call_tools", "/mcp")
    .every_key()
    .every_method()
    .any_parameter()
    .summary("The Model Context Protocol, streamable HTTP without sessions: drawing and checking as tools")
    .body(Content::Media(&[("application/json", r##"{"$ref":"#/components/schemas/McpMessage"}"##)]))
    .successes(&[
        success(200, "McpAnswer").about("An answer, or an error of JSON-RPC"),
        nothing(202).about("Nothing was asked"),
    ])
    .codes(&["invalid_request", "method_not_allowed", "body_timed_out", "too_large"]);

/// The one endpoint of all tools.
pub(super) const ENDPOINTS: &[Endpoint<Diagrams>] =
    &[Endpoint::relaying(&SPEAK, |visit, endpoints| Box::pin(speak(visit, endpoints)))];

/// Every tool.
const TOOLS: &[Tool<Diagrams>] = &[
    Tool::new(
        "draw",
        "POST /graphs",
        "Draw DOT source as Graphviz's dot would, and keep the picture; answers with its url, and with \
         warnings and degraded where not all was honoured. png unless format says svg.",
    )
    .idempotent()
    .telling(not_honoured),
    Tool::new(
        "validate",
        "POST /validate",
        "Check DOT source, which may hold several graphs, without drawing it; answers whether it is valid, and if not \
         why, in which line and column.",
    )
    .idempotent(),
];

/// What models are told of the service. Addresses of pictures are those by which it was reached.
static SERVER: Server<Diagrams> =
    Server::new("quintet-diagrams", include_str!("instructions.md"), TOOLS).carrying(&["host"]);

/// What a picture's header says, which whoever calls a tool does not see.
fn not_honoured(fields: &HeaderMap) -> Vec<(&'static str, Json)> {
    let warnings = fields.get(X_RENDER_WARNING).and_then(|text| text.to_str().ok()).map(Json::from);
    let degraded = fields.contains_key(X_RENDER_DEGRADED).then_some(Json::Bool(true));
    [("warnings", warnings), ("degraded", degraded)]
        .into_iter()
        .filter_map(|(name, said)| Some((name, said?)))
        .collect()
}

/// Whoever may be a stranger takes a place for a large message, as for any other large body.
async fn speak(mut visit: Visit, endpoints: Endpoints<Diagrams>) -> Answered {
    Diagrams::recognize(&visit.context, &visit.parts).await?;
    let (context, body) = (visit.context.clone(), visit.take_body());
    let taken = take_in(&context, &visit.parts, body, mcp::BODY_BYTES_MAX, Diagrams::DEMANDS.body_time).await;
    let (bytes, _place) = taken?;
    visit.put_body(Body::from(bytes));
    mcp::serve(visit, endpoints, &SERVER).await
}
