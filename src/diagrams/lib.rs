//! Diagrams: DOT in, the picture Graphviz's `dot` would draw out, as SVG or PNG.

pub mod arrows;
pub mod color;
pub mod dot;
pub mod geometry;
pub mod graph;
pub mod html;
pub mod label;
pub mod layout;
pub mod limits;
pub mod plan;
pub mod scene;
pub mod shapes;
pub mod text;
pub mod values;
pub mod work;

#[cfg(test)]
mod oracle;
