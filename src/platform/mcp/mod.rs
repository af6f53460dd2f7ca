//! The Model Context Protocol over streamable HTTP: a service's routes as tools.
//!
//! Nouns: a [`Server`] is what a service says of itself in this protocol, with its table of [`Tool`]s. A tool names routes,
//! and all else follows from them: which arguments it takes and where each goes (path, query, body), their schemas, who may
//! call it. A call is a request of that route, made here and served by the route's own endpoint: the same key, permission,
//! order of checks, quota and problem. It carries the caller's credential, and of the header what the server names.
//!
//! An [`Argument`] is one that a tool does not call as its route does: a field of the header, another name, a text for a
//! list. A tool that is more than one route is *composed*: its [`Steps`] are calls of routes.
//!
//! There are two *eras*: the handshake's (2024-11-05 to 2025-11-25: `initialize` first, then requests) and the modern one
//! (2026-07-28: every request says its version in header and envelope). Neither keeps anything between two requests here:
//! no session, no stream, answers are JSON.
//!
//! Invariants:
//! - whatever comes in is a message that is answered, an error of JSON-RPC, or a problem of the service; nothing else;
//! - who has no key of the service learns nothing, whatever method and body were sent;
//! - an answer of a route is handed on to the byte, as JSON and as text.
//!
//! Reading order: `rpc` (messages), `eras` (versions and what each demands) · `argument`, `arguments` (from a tool to a
//! route), `steps` · `tool`, `schema`, `server` · `results` · `serve` (the way of a request).

mod argument;
mod arguments;
mod eras;
mod results;
mod rpc;
mod schema;
mod serve;
mod server;
mod steps;
mod tool;

#[cfg(test)]
mod tests;

pub use argument::Argument;
pub use arguments::ByTool;
pub use eras::VERSIONS;
pub use serve::{BODY_BYTES_MAX, serve};
pub use server::Server;
pub use steps::{Ended, Steps, Told};
pub use tool::Tool;
