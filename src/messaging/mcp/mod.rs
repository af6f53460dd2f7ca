//! Messaging as tools of the Model Context Protocol, at `/mcp` and `/mcp/` (6-messaging.md, N1 to N3).
//!
//! What a tool takes, does and answers is its routes' business ([`quintet_platform::mcp`]); here are the table of tools, the
//! two routes of all of them, what the tools do that are more than one route, and what models are not shown.
//!
//! Invariants:
//! - a tool is its route: the same handler, the same key, agent, order of checks, limits and problem;
//! - every result of a tool, a refusal too, goes through `sealed`, and no armor comes out of it;
//! - a call is a request like others, and no stream: it never counts as a live wake channel.
//!
//! Reading order: `sealed` (what is withheld) · `given` (arguments of composed tools) · `forward`, `attachment`, `sender`,
//! `wait` · `tools` (the table) · this file.

mod attachment;
mod forward;
mod given;
mod sealed;
mod sender;
#[cfg(test)]
mod tests;
mod tools;
mod wait;

use http::header::ALLOW;
use http::{HeaderValue, Method};
use quintet_platform::mcp::{self, Argument, Server};
use quintet_platform::service::{
    Answer, Content, Endpoint, Endpoints, Route, Success, Visit, json as success, nothing,
};

use crate::dialect::{Answered, Messaging};

const SPEAK: Route = speaking("call_tools", "/mcp")
    .summary("The Model Context Protocol, streamable HTTP without sessions: what the routes do, as tools");
const SPEAK_AS_WELL: Route = speaking("call_tools_as_well", "/mcp/").summary("The same, for clients that write it so");

const ANSWERS: &[Success] =
    &[success(200, "McpAnswer").about("An answer, or an error of JSON-RPC"), nothing(202).about("Nothing was asked")];

const fn speaking(name: &'static str, path: &'static str) -> Route {
    Route::post(name, path)
        .every_key()
        .every_method()
        .any_parameter()
        .body(Content::Media(&[("application/json", r##"{"$ref":"#/components/schemas/McpMessage"}"##)]))
        .successes(ANSWERS)
        .codes(&["malformed_json", "payload_too_large", "request_timeout"])
}

/// The endpoints of all tools.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::relaying(&SPEAK, |visit, endpoints| Box::pin(speak(visit, endpoints))),
    Endpoint::relaying(&SPEAK_AS_WELL, |visit, endpoints| Box::pin(speak(visit, endpoints))),
];

/// As which agent a tool is called.
const AGENT: Argument = Argument::field(
    "agent",
    "x-agentbus-agent",
    "As which agent; left out: as the one that the header X-AgentBus-Agent names, or that the key is bound to.",
);

/// What models are told of the service.
static SERVER: Server<Messaging> = Server::new("quintet-messaging", include_str!("instructions.md"), tools::TOOLS)
    .acting(AGENT)
    .carrying(&["x-agentbus-pong"])
    .showing(sealed::withheld);

/// What is told whoever looks here with a browser, or asks for a stream: with a key or without.
const NO_PAGE: &str = "This is for clients of the Model Context Protocol: POST with a key. There is no page here and no \
    stream; /llms.txt says what the service does.\n";
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const POST: HeaderValue = HeaderValue::from_static("POST");

async fn speak(visit: Visit<Messaging>, endpoints: Endpoints<Messaging>) -> Answered {
    if visit.parts.method != Method::POST {
        return Ok(Answer::other(405, PLAIN, NO_PAGE).header(ALLOW, POST));
    }
    mcp::serve(visit, endpoints, &SERVER).await
}
