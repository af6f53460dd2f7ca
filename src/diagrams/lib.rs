//! Diagrams: DOT in, the picture Graphviz's `dot` would draw out, as SVG or PNG.

pub mod arrows;
pub mod attributes;
pub mod color;
pub mod dot;
pub mod engine;
pub mod fonts;
pub mod generate;
pub mod geometry;
pub mod graph;
pub mod html;
mod http;
pub mod label;
pub mod layout;
pub mod limits;
pub mod paint;
pub mod plan;
pub mod png;
pub mod pool;
pub mod refusal;
pub mod render;
pub mod scene;
pub mod shapes;
pub mod store;
pub mod style;
pub mod svg;
pub mod tables;
pub mod text;
pub mod values;
pub mod warnings;
pub mod work;

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod gallery;

#[cfg(test)]
mod oracle;

use std::sync::Arc;

use quintet_platform::clock::DueWork;
use quintet_storage::Family;

pub use crate::http::{Context, PERMISSION, ROUTES, Route, Settings, panic_answer, routes};
pub use crate::store::verify;
pub use crate::tables::TABLES;

/// The column family that all rows of the room lie in.
pub(crate) const FAMILY: Family = Family::named("diagrams");

/// What diagrams do when time passes: note uses of pictures, and prune those that nobody uses.
#[must_use]
pub fn due_work(context: &Context) -> Vec<Arc<dyn DueWork>> {
    vec![context.due_work()]
}
