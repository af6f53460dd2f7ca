//! Timers over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading), `wire` (writing) · `timers`.

mod form;
mod timers;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::Runs;

/// What is served of timers.
pub(crate) const ENDPOINTS: &[Endpoint<Runs>] = &[
    Endpoint::new(&timers::CREATE, |call| Box::pin(timers::create(call))),
    Endpoint::new(&timers::LIST, |call| Box::pin(timers::list(call))),
    Endpoint::new(&timers::GET, |call| Box::pin(timers::get(call))),
    Endpoint::new(&timers::CANCEL, |call| Box::pin(timers::cancel(call))),
];
