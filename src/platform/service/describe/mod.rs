//! What a service says of itself: `/openapi.json` (OpenAPI 3.1) and `/llms.txt`, made from its routes, its schemas and
//! its table of codes.
//!
//! Reading order: `codes` (which codes a route can answer with), `openapi`, `links`, `guide` · `loose` (what tests of
//! every service want empty).

mod codes;
mod guide;
mod links;
mod loose;
mod openapi;

pub use codes::{codes_of, faults_of};
pub use guide::guide;
pub use loose::loose_ends;
pub use openapi::{document, schemas};

use super::dialect::Dialect;
use super::endpoint::{Endpoints, routes};
use super::route::Route;

/// The routes of a service in the order of its table, for those who write of all of them.
fn all<D: Dialect>(endpoints: Endpoints<D>) -> Vec<&'static Route> {
    routes(endpoints).collect()
}
