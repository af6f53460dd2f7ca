//! Looking back over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `threads`, `sent`, `history`.

mod history;
mod sent;
mod threads;

use quintet_platform::service::{Endpoint, Parameter, Shape};

use crate::dialect::{Messaging, challenged};

/// What is served of it.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&threads::LIST, |call| Box::pin(challenged(call, threads::list))),
    Endpoint::new(&threads::GET, |call| Box::pin(challenged(call, threads::get))),
    Endpoint::new(&threads::RESUME, |call| Box::pin(challenged(call, threads::resume))),
    Endpoint::new(&sent::LIST, |call| Box::pin(challenged(call, sent::list))),
    Endpoint::new(&history::LIST, |call| Box::pin(challenged(call, history::list))),
];

/// The most items of an answer.
const LIMIT: Parameter = Parameter::new(
    "limit",
    Shape::Integer { min: 1, max: 200, default: Some(50) },
    "The most items. There can be fewer and still be more.",
);

/// What [`LIMIT`] is, which its shape keeps within bounds.
fn count(limit: Option<i64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1)
}
