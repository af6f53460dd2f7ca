//! Diagrams: the service that draws DOT, keeps the pictures, checks sources, and has them written for a text.
//!
//! What a picture looks like is the business of `quintet-drawing`; this room knows who asks, how many at once, and where
//! pictures lie. Reading order: `engine` (what draws) · `places`, `queue`, `pool` (the threads) · `tables`, `store`, `sweep` (kept pictures)
//! · `refusal` (every no) · `extract`, `generate` (DOT from a text) · `context` (what it needs to serve) · `actions` (what requests
//! set in motion) · `painting` (what other services have drawn) · `http`.

mod actions;
mod context;
pub mod engine;
mod extract;
pub mod generate;
mod http;
pub mod painting;
mod places;
pub mod pool;
mod queue;
mod refusal;
mod store;
mod sweep;
mod tables;

use std::sync::Arc;

use quintet_platform::clock::DueWork;
use quintet_platform::jobs::Sweep;
use quintet_platform::service::{self, Route};

pub use crate::context::{Context, Settings};
pub use crate::http::{Diagrams, PERMISSION, routes};
pub use crate::store::verify;
pub use crate::tables::TABLES;

/// Every route that is served.
pub fn served() -> impl Iterator<Item = &'static Route> {
    service::routes::<Diagrams>(crate::http::ENDPOINTS)
}

/// What diagrams do when time passes: note uses of pictures, and prune those that nobody uses.
#[must_use]
pub fn due_work(context: &Context) -> Vec<Arc<dyn DueWork>> {
    let results = &context.results;
    vec![Arc::new(Sweep(sweep::Uses(Arc::clone(results)))), Arc::new(Sweep(sweep::Pruning(Arc::clone(results))))]
}
