//! Diagrams as tools of the Model Context Protocol, at `/mcp`: what a tool takes, does and answers is its route's business
//! ([`quintet_platform::mcp`]).

use axum::body::Body;
use quintet_platform::mcp::{self, Server, Tool};
use quintet_platform::service::{Content, Dialect as _, Endpoint, Endpoints, Route, json as success, nothing};

use super::dialect::{Answered, Diagrams, Visit};
use super::intake::take_in;

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
        "Draw DOT source as Graphviz's dot would, and keep the picture; answers with its url. png unless format says svg.",
    )
    .idempotent(),
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

/// Whoever may be a stranger takes a place for a large message, as for any other large body.
async fn speak(mut visit: Visit, endpoints: Endpoints<Diagrams>) -> Answered {
    Diagrams::recognize(&visit.context, &visit.parts).await?;
    let (context, body) = (visit.context.clone(), visit.take_body());
    let taken = take_in(&context, &visit.parts, body, mcp::BODY_BYTES_MAX, Diagrams::DEMANDS.body_time).await;
    let (bytes, _place) = taken?;
    visit.put_body(Body::from(bytes));
    mcp::serve(visit, endpoints, &SERVER).await
}
