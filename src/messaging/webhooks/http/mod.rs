//! Webhooks over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading) · `webhooks`.

mod form;
mod webhooks;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of webhooks.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&webhooks::CREATE, |call| Box::pin(challenged(call, webhooks::create))),
    Endpoint::new(&webhooks::LIST, |call| Box::pin(challenged(call, webhooks::list))),
    Endpoint::new(&webhooks::GET, |call| Box::pin(challenged(call, webhooks::get))),
    Endpoint::new(&webhooks::CHANGE, |call| Box::pin(challenged(call, webhooks::change))),
    Endpoint::new(&webhooks::DELETE, |call| Box::pin(challenged(call, webhooks::delete))),
];
