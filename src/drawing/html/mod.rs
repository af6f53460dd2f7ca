//! HTML-like labels, read and sized; and labels of either kind (`label`).
//!
//! The grammar is that of Graphviz's documentation; the rules for sizes and places were found by asking Graphviz 16.1.

pub mod label;

pub(crate) mod model;
pub(crate) mod size;

mod attributes;
mod measured;
mod parse;

#[cfg(test)]
mod tests;

pub use measured::{Html, HtmlError};
