//! Drafts over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `path` · `drafts` (keeping) · `send`.

mod drafts;
mod path;
mod send;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged, challenged_or_null};

/// What is served of drafts.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&drafts::CREATE, |call| Box::pin(challenged(call, drafts::create))),
    Endpoint::new(&drafts::LIST, |call| Box::pin(challenged(call, drafts::list))),
    Endpoint::new(&drafts::GET, |call| Box::pin(challenged(call, drafts::get))),
    Endpoint::new(&drafts::CHANGE, |call| Box::pin(challenged(call, drafts::change))),
    Endpoint::new(&drafts::DELETE, |call| Box::pin(challenged(call, drafts::delete))),
    Endpoint::new(&send::SEND, |call| Box::pin(challenged_or_null(call, send::send))),
];
