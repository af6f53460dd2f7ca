//! Claims over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `claims`.

mod claims;

use quintet_platform::service::Endpoint;

use crate::dialect::{Messaging, challenged};

/// What is served of claims.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&claims::GET, |call| Box::pin(challenged(call, claims::get))),
    Endpoint::new(&claims::JUDGE, |call| Box::pin(challenged(call, claims::judge))),
];
