//! Shapes: how large a node is, where edges end at it, and what its outline looks like; and those of arrows.
//!
//! [`NodeShape::new`] is what the layout and the painter need. The rules were found by asking Graphviz 16.1 for the
//! sizes and corners of nodes with every shape and attribute.

pub mod arrows;

mod kinds;
mod model;
mod node;
mod polygon;
mod port;
mod record;

#[cfg(test)]
mod tests;

pub use kinds::{Family, Kind, Ornament, kind_of};
pub use model::{Field, NodeShape, PlacedLabel, Ring};
