//! Reading a source, and checking one.

use std::borrow::Cow;

use super::error::ParseError;
use super::parser::Parser;
use crate::graph::Graph;
use crate::graph::values::Attributes;
use crate::limits::{Limits, TooMuch};
use crate::warnings::Warnings;

/// A graph, and what Graphviz would warn of.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The first graph of the source.
    pub graph: Graph,
    /// Warnings in Graphviz's words, in the order of the source.
    pub warnings: Warnings,
}

/// Reads the first graph of a source, and nothing behind it.
///
/// Bytes that are not UTF-8 are read as Latin-1, string by string; all of them are where the graph says
/// `charset=latin1`. A byte order mark before the source is skipped.
///
/// # Errors
/// Broken grammar, no graph at all, or a bound of `limits`.
pub fn parse(source: &[u8], limits: &Limits) -> Result<Parsed, ParseError> {
    let source = checked(source, limits)?;
    let parsed = parse_once(source, limits)?;
    if !is_latin1(&parsed.graph) || source.is_ascii() {
        return Ok(parsed);
    }
    let text: String = source.iter().map(|byte| char::from(*byte)).collect();
    parse_once(text.as_bytes(), limits)
}

/// Checks that a source holds at least one graph, and nothing but graphs.
///
/// # Errors
/// As [`parse`], for any of the graphs.
pub fn validate(source: &[u8], limits: &Limits) -> Result<(), ParseError> {
    let source = checked(source, limits)?;
    let mut parser = Parser::new(source, limits)?;
    parser.first_graph()?;
    loop {
        parser.next_graph()?;
        if parser.graph()?.is_none() {
            return Ok(());
        }
    }
}

fn checked<'a>(source: &'a [u8], limits: &Limits) -> Result<&'a [u8], ParseError> {
    if source.len() > limits.source_bytes {
        return Err(TooMuch::SourceBytes(limits.source_bytes).into());
    }
    Ok(source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source))
}

fn parse_once(source: &[u8], limits: &Limits) -> Result<Parsed, ParseError> {
    let mut parser = Parser::new(source, limits)?;
    let graph = parser.first_graph()?;
    Ok(Parsed { graph, warnings: parser.warnings() })
}

/// Whether the graph says that its text is Latin-1, in one of the ways Graphviz knows.
fn is_latin1(graph: &Graph) -> bool {
    let charset: Cow<'_, str> = graph.root().text("charset").unwrap_or_default().to_ascii_lowercase().into();
    matches!(&*charset, "latin-1" | "latin1" | "l1" | "iso-8859-1" | "iso_8859-1" | "iso8859-1" | "iso-ir-100")
}
