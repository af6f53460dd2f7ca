//! Messaging over HTTP: what all folders serve, strung together, and whether the service works.

mod health;

use axum::Router;
use quintet_platform::service::{self, Endpoints};

use crate::context::Context;
use crate::dialect::Messaging;
use crate::presence;

/// Everything that is served.
pub(crate) const ENDPOINTS: Endpoints<Messaging> = &[health::ENDPOINTS, presence::ENDPOINTS];

/// The listener of messaging.
pub fn routes(context: Context) -> Router {
    service::router::<Messaging>(&context, ENDPOINTS, |router| router)
}
