//! Diagrams over HTTP: for each kind of thing a file with its routes, what they read and write, and what answers them.
//!
//! Reading order: `limits`, `intake`, `dialect`, `body`, `encoded` (reading) · `picture` (pictures on their way out),
//! `graphs`, `sources` · `kroki` (the interface that plugins speak) · `html` (the page as text), `page`, `assets` · `health`
//! · `docs` (the contract's own description) · `tools` (what models call).

mod assets;
mod body;
mod dialect;
mod docs;
mod encoded;
mod graphs;
mod health;
mod html;
mod intake;
mod kroki;
mod limits;
mod page;
mod picture;
mod sources;
mod tools;

#[cfg(test)]
mod tests;

use axum::Router;
use quintet_platform::service::{self, Endpoint, Endpoints};

use crate::context::Context;

pub use dialect::{Diagrams, PERMISSION};

/// Everything that is served.
pub const ENDPOINTS: Endpoints<Diagrams> = &[
    page::ENDPOINTS,
    DESCRIPTION,
    sources::ENDPOINTS,
    graphs::ENDPOINTS,
    kroki::ENDPOINTS,
    tools::ENDPOINTS,
    health::ENDPOINTS,
    assets::ENDPOINTS,
];

/// The description of all endpoints is one of them.
const DESCRIPTION: &[Endpoint<Diagrams>] =
    &[Endpoint::open(&docs::DOCS, |_| Box::pin(async { Ok(docs::get_docs(ENDPOINTS)) }))];

/// The diagrams' listener.
pub fn routes(context: Context) -> Router {
    service::router::<Diagrams>(&context, ENDPOINTS, |router| router)
}
