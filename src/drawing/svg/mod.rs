//! The scene as SVG, element by element as Graphviz writes it.

mod fonts;
mod writer;

pub use writer::write;
