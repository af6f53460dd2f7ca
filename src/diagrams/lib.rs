//! Diagrams: DOT in, the picture Graphviz's `dot` would draw out, as SVG or PNG.

pub mod geometry;
pub mod html;
pub mod label;
pub mod layout;
pub mod scene;
pub mod shapes;
pub mod text;
pub mod values;
pub mod work;
