//! Webhooks over HTTP: endpoints, and deliveries.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading) · `endpoints`, `outbox`.

mod endpoints;
pub(crate) mod form;
mod outbox;

use quintet_platform::service::Endpoint;

use crate::dialect::Runs;

/// What is served of webhooks.
pub(crate) const ENDPOINTS: &[Endpoint<Runs>] = &[
    Endpoint::new(&endpoints::CREATE, |call| Box::pin(endpoints::create(call))),
    Endpoint::new(&endpoints::LIST, |call| Box::pin(endpoints::list(call))),
    Endpoint::new(&outbox::LIST_ALL, |call| Box::pin(outbox::list_all(call))),
    Endpoint::new(&outbox::REDELIVER, |call| Box::pin(outbox::redeliver(call))),
    Endpoint::new(&endpoints::GET, |call| Box::pin(endpoints::get(call))),
    Endpoint::new(&endpoints::CHANGE, |call| Box::pin(endpoints::change(call))),
    Endpoint::new(&endpoints::DELETE, |call| Box::pin(endpoints::delete(call))),
    Endpoint::new(&endpoints::ROTATE, |call| Box::pin(endpoints::rotate(call))),
    Endpoint::new(&endpoints::TEST, |call| Box::pin(endpoints::test(call))),
    Endpoint::new(&outbox::LIST, |call| Box::pin(outbox::list(call))),
];
