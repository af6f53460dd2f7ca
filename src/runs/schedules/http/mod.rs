//! Schedules over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading), `wire` (writing) · `schedules`.

pub(crate) mod form;
mod schedules;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::Runs;

/// What is served of schedules.
pub(crate) const ENDPOINTS: &[Endpoint<Runs>] = &[
    Endpoint::new(&schedules::CREATE, |call| Box::pin(schedules::create(call))),
    Endpoint::new(&schedules::LIST, |call| Box::pin(schedules::list(call))),
    Endpoint::new(&schedules::GET, |call| Box::pin(schedules::get(call))),
    Endpoint::new(&schedules::CHANGE, |call| Box::pin(schedules::change(call))),
    Endpoint::new(&schedules::DELETE, |call| Box::pin(schedules::delete(call))),
    Endpoint::new(&schedules::PAUSE, |call| Box::pin(schedules::pause(call))),
    Endpoint::new(&schedules::RESUME, |call| Box::pin(schedules::resume(call))),
];
