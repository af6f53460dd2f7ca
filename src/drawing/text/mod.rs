//! Text: what a label says, line by line, and how much room it takes.
//!
//! Sizes are those of Graphviz without a text engine: sums of widths out of fixed tables, so that a node is as large
//! on every machine. The rules were found by measuring what Graphviz 16.1 lays out.

mod entities;
mod escape;
mod font;
mod lines;
mod widths;

#[cfg(test)]
mod tests;

pub use entities::decode_entities;
pub(crate) use entities::{decode_one as decode_entity, decode_xml, decode_xml_one};
pub use escape::{Names, expand, substitute, substituted_bytes};
pub use font::{
    DEFAULT_FONT, DEFAULT_FONT_SIZE, Font, FontStyle, LARGEST_FONT_SIZE, LINE_SPACING, SMALLEST_FONT_SIZE, font_name,
    is_known_font, line_width,
};
pub use lines::{Justify, Line, TextBlock};
