//! Runs as tools of the Model Context Protocol, at `/mcp`.
//!
//! What a tool takes, does and answers is its routes' business ([`quintet_platform::mcp`]); here are the table of tools, the
//! route of all of them, and what is answered where a route answers with nothing.
//!
//! Reading order: `tools` (the table) · this file.

mod tools;

#[cfg(test)]
mod tests;

use quintet_platform::mcp::{self, Server};
use quintet_platform::service::{Content, Endpoint, Route, json as success, nothing};

use crate::dialect::Runs;

const SPEAK: Route = Route::post("call_tools", "/mcp")
    .every_key()
    .every_method()
    .any_parameter()
    .summary("The Model Context Protocol, streamable HTTP without sessions: what the routes do, as tools")
    .body(Content::Media(&[("application/json", r##"{"$ref":"#/components/schemas/McpMessage"}"##)]))
    .successes(&[
        success(200, "McpAnswer").about("An answer, or an error of JSON-RPC"),
        nothing(202).about("Nothing was asked"),
    ])
    .codes(&["method_not_allowed", "request_timeout", "payload_too_large", "unsupported_media_type"]);

/// The one endpoint of all tools.
pub(crate) const ENDPOINTS: &[Endpoint<Runs>] =
    &[Endpoint::relaying(&SPEAK, |visit, endpoints| Box::pin(mcp::serve(visit, endpoints, &SERVER)))];

/// What models are told of the service.
static SERVER: Server<Runs> = Server::new("quintet-runs", include_str!("instructions.md"), tools::TOOLS);
