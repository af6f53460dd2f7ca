//! Sending over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading), `wire` (writing) · `messages`.

mod form;
mod messages;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged_or_null};

/// What is served of sending.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] =
    &[Endpoint::new(&messages::SEND, |call| Box::pin(challenged_or_null(call, messages::send)))];
