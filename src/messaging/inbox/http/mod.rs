//! The inbox over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `wire` (what is written) · `inbox`, `deliveries`.

mod deliveries;
mod inbox;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of inboxes.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&inbox::LIST, |call| Box::pin(challenged(call, inbox::list))),
    Endpoint::new(&deliveries::GET, |call| Box::pin(challenged(call, deliveries::get))),
];
