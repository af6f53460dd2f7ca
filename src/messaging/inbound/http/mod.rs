//! Inbound endpoints over HTTP: an agent's own, and the address that is called.
//!
//! No answer carries a challenge (6-messaging.md, W4).
//!
//! Reading order: this file (the routes on one screen) · `endpoint` · `body` (what is read of a call), `call`.

mod body;
mod call;
mod endpoint;

use quintet_platform::service::Endpoint;

use crate::dialect::Messaging;

/// What is served of inbound endpoints.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&endpoint::CREATE, |call| Box::pin(endpoint::create(call))),
    Endpoint::new(&endpoint::GET, |call| Box::pin(endpoint::get(call))),
    Endpoint::new(&endpoint::DELETE, |call| Box::pin(endpoint::delete(call))),
    Endpoint::new(&endpoint::ROTATE, |call| Box::pin(endpoint::rotate(call))),
    Endpoint::open(&call::RECEIVE, |visit| Box::pin(call::receive_call(visit))),
];
