//! The DOT language: sources to graphs, and what is wrong with a source in Graphviz's words.
//!
//! Verdicts, lines and messages are those of Graphviz 16.1; the tests in `oracle` hold them against it.

mod error;
mod lexer;
mod parser;
mod read;

#[cfg(test)]
mod tests;

pub use error::{ParseError, Place, SyntaxError};
pub use read::{Parsed, parse, validate};
