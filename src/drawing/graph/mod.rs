//! Graphs as their sources describe them: what there is (`model`), how it is read statement by statement (`builder`),
//! what attributes mean (`attributes`, Graphviz's table) and how their values are read (`values`).

pub mod attributes;
pub mod values;

mod builder;
mod model;

pub use builder::Builder;
pub use model::{Edge, Element, ElementKind, Graph, Node, Subgraph, Text};
