//! The inbox over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `wire` (what is written) · `inbox`, `deliveries`, `notes` (what an agent
//! notes of a delivery), `attachments`, `raw`.

mod attachments;
mod deliveries;
mod inbox;
mod notes;
mod raw;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of inboxes.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&inbox::LIST, |call| Box::pin(challenged(call, inbox::list))),
    Endpoint::new(&deliveries::GET, |call| Box::pin(challenged(call, deliveries::get))),
    Endpoint::new(&notes::ACK, |call| Box::pin(challenged(call, notes::ack))),
    Endpoint::new(&notes::LABEL, |call| Box::pin(challenged(call, notes::label))),
    Endpoint::new(&attachments::GET, |call| Box::pin(challenged(call, attachments::get))),
    Endpoint::new(&raw::GET, |call| Box::pin(challenged(call, raw::get))),
];
