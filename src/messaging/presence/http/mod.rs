//! Availability, health and streams over HTTP.

mod availability;
mod form;
mod health;
mod stream;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of them.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&availability::GET, |call| Box::pin(challenged(call, availability::get))),
    Endpoint::new(&availability::PUT, |call| Box::pin(challenged(call, availability::put))),
    Endpoint::new(&availability::BUSY, |call| Box::pin(challenged(call, availability::busy))),
    Endpoint::new(&health::HEALTH, |call| Box::pin(health::health(call))),
    Endpoint::new(&stream::STREAM, |call| Box::pin(stream::stream(call))),
];
