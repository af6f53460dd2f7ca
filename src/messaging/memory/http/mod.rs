//! An agent's memory over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `memory`.

mod memory;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of memories.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&memory::ADD, |call| Box::pin(challenged(call, memory::add))),
    Endpoint::new(&memory::LIST, |call| Box::pin(challenged(call, memory::list))),
    Endpoint::new(&memory::REPLACE, |call| Box::pin(challenged(call, memory::replace))),
    Endpoint::new(&memory::REMOVE, |call| Box::pin(challenged(call, memory::remove))),
    Endpoint::new(&memory::TRUNCATE, |call| Box::pin(challenged(call, memory::truncate))),
];
