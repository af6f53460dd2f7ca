//! Runs over HTTP: what all folders serve, strung together, and whether the service works.

mod health;

#[cfg(test)]
mod tests;

use axum::Router;
use quintet_platform::service::{self, Endpoints};

use crate::context::Context;
use crate::dialect::Runs;
use crate::{containers, mcp, schedules, templates, tenant, timers, usage, webhooks, workflows};

/// Everything that is served.
pub(crate) const ENDPOINTS: Endpoints<Runs> = &[
    health::ENDPOINTS,
    containers::http::ENDPOINTS,
    tenant::http::ENDPOINTS,
    usage::http::ENDPOINTS,
    webhooks::http::ENDPOINTS,
    timers::http::ENDPOINTS,
    schedules::http::ENDPOINTS,
    workflows::http::ENDPOINTS,
    templates::http::ENDPOINTS,
    mcp::ENDPOINTS,
];

/// The listener of runs.
pub fn routes(context: Context) -> Router {
    service::router::<Runs>(&context, ENDPOINTS, |router| router)
}
