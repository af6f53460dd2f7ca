//! The ledger over HTTP: for each kind of thing a file with its routes, what they read and write, and what answers them.
//!
//! Reading order: `context`, `dialect`, `form` (reading), `wire` (writing) · `asset_types`, `accounts`, `transactions`, `bulk`,
//! `sub_tenants` · `health`.

mod accounts;
mod asset_types;
mod bulk;
mod context;
mod dialect;
mod form;
mod health;
mod sub_tenants;
mod transactions;
mod wire;

#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use quintet_platform::service::{self, Endpoints, Fault, refuse};

pub use context::Context;
pub use dialect::Ledger;

/// Everything that is served.
pub const ENDPOINTS: Endpoints<Ledger> = &[
    health::ENDPOINTS,
    asset_types::ENDPOINTS,
    accounts::ENDPOINTS,
    transactions::ENDPOINTS,
    bulk::ENDPOINTS,
    sub_tenants::ENDPOINTS,
];

/// The ledger's listener.
pub fn routes(context: Context) -> Router {
    let limited = middleware::from_fn_with_state(context.clone(), limit_rate);
    service::router::<Ledger>(&context, ENDPOINTS, |router| router.layer(limited))
}

/// The same for those who ask from within the appliance: no source address, and so no edge.
pub fn routes_within(context: &Context) -> Router {
    service::router::<Ledger>(context, ENDPOINTS, |router| router)
}

/// The edge: so many requests per second from each source address, health excepted.
async fn limit_rate(State(context): State<Context>, request: Request, next: Next) -> Response {
    if request.uri().path() == health::HEALTH.path {
        return next.run(request).await;
    }
    let source = request.extensions().get::<ConnectInfo<std::net::SocketAddr>>().map(|info| info.0.ip());
    // Without an address (a unix socket) everybody is one source.
    let source = source.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED.into());
    match context.edge.check(source, context.clock.pacing_now()) {
        Ok(()) => next.run(request).await,
        Err(wait) => refuse::<Ledger>(Fault::RateLimited(wait.0), request.extensions()),
    }
}
