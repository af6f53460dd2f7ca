//! Looking back over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `page` (what all are asked) · `threads`, `sent`, `history`.

mod history;
mod page;
mod sent;
mod threads;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of it.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&threads::LIST, |call| Box::pin(challenged(call, threads::list))),
    Endpoint::new(&threads::GET, |call| Box::pin(challenged(call, threads::get))),
    Endpoint::new(&threads::RESUME, |call| Box::pin(challenged(call, threads::resume))),
    Endpoint::new(&sent::LIST, |call| Box::pin(challenged(call, sent::list))),
    Endpoint::new(&history::LIST, |call| Box::pin(challenged(call, history::list))),
];
