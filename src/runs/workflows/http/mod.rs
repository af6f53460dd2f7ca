//! Workflows over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `path` (what a path names) · `form` (reading) · `workflows` (submitting,
//! reading, controlling), `nodes` (one node, its decision, its retry), `happenings` (events, and following them), `pictures`.

pub(crate) mod form;
mod happenings;
mod nodes;
mod path;
pub(crate) mod pictures;
mod workflows;

use quintet_platform::service::Endpoint;

use crate::dialect::Runs;

/// What is served of workflows.
pub(crate) const ENDPOINTS: &[Endpoint<Runs>] = &[
    Endpoint::new(&workflows::SUBMIT, |call| Box::pin(workflows::submit(call))),
    Endpoint::new(&workflows::LIST, |call| Box::pin(workflows::list(call))),
    Endpoint::new(&workflows::GET, |call| Box::pin(workflows::get(call))),
    Endpoint::new(&workflows::RESULT, |call| Box::pin(workflows::result(call))),
    Endpoint::new(&pictures::GRAPH, |call| Box::pin(pictures::graph(call))),
    Endpoint::new(&happenings::EVENTS, |call| Box::pin(happenings::events(call))),
    Endpoint::new(&workflows::CANCEL, |call| Box::pin(workflows::cancel(call))),
    Endpoint::new(&workflows::PAUSE, |call| Box::pin(workflows::pause(call))),
    Endpoint::new(&workflows::RESUME, |call| Box::pin(workflows::resume(call))),
    Endpoint::new(&nodes::GET, |call| Box::pin(nodes::get(call))),
    Endpoint::new(&nodes::RETRY, |call| Box::pin(nodes::retry(call))),
    Endpoint::new(&nodes::APPROVE, |call| Box::pin(nodes::approve(call))),
    Endpoint::new(&nodes::REJECT, |call| Box::pin(nodes::reject(call))),
];
