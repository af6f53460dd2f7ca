//! Sending over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading), `wire` (writing) · `body` (room for large
//! bodies) · `messages` (sending), `resolve` (looking who would get it), `owing` (acknowledgements).

mod body;
pub(crate) mod form;
mod messages;
mod owing;
mod resolve;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged, challenged_or_null};

pub(crate) use body::{Taken, take};
pub(crate) use messages::{author, deliver};

/// What is served of sending.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&messages::SEND, |call| Box::pin(challenged_or_null(call, messages::send))),
    Endpoint::new(&messages::REPLY, |call| Box::pin(challenged_or_null(call, messages::reply))),
    Endpoint::new(&resolve::RESOLVE, |call| Box::pin(challenged(call, resolve::resolve))),
    Endpoint::new(&resolve::RESOLVE_REPLY, |call| Box::pin(challenged(call, resolve::resolve_reply))),
    Endpoint::new(&owing::OWING, |call| Box::pin(challenged(call, owing::owing))),
    Endpoint::new(&owing::OWED, |call| Box::pin(challenged(call, owing::owed))),
];
