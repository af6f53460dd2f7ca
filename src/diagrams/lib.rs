//! Diagrams: DOT in, the picture Graphviz's `dot` would draw out, as SVG or PNG.

pub mod geometry;
pub mod layout;
pub mod text;
pub mod work;
