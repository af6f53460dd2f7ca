//! Drawing: DOT in, the picture out that Graphviz's `dot` would draw, as SVG or PNG.
//!
//! Knows no service, no storage and no network: bytes in, bytes out, and the same bytes for the same source on every
//! machine. What a source may ask for is bounded by `limits` (how large) and `work` (how long).
//!
//! Reading order, which is also the way of a source: `render` (the whole way) · `dot` (the language) · `graph` (what it
//! says) · `text`, `html` (labels, measured) · `style`, `shapes` (what nodes and arrows look like) · `plan` (what the
//! layout is asked) · `layout` · `paint` (the scene) · `svg`, `png` with `fonts` (the two writers). All lean on
//! `geometry`, `limits`, `work`, `bound` and `warnings`; `outline` tells a graph in words.

pub mod bound;
pub mod dot;
pub mod fonts;
pub mod geometry;
pub mod graph;
pub mod html;
pub mod layout;
pub mod limits;
pub mod outline;
pub mod paint;
pub mod plan;
pub mod png;
pub mod render;
pub mod shapes;
pub mod style;
pub mod svg;
pub mod text;
pub mod warnings;
pub mod work;

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod gallery;

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod oracle;

#[cfg(test)]
mod shown;
