//! What is wrong with a source, in Graphviz's words.

use std::fmt;

use crate::limits::TooMuch;

/// Why a source gives no graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The source breaks the grammar.
    Syntax(SyntaxError),
    /// There is no graph in the source: it is empty, or blanks and comments alone. Graphviz says nothing then.
    Empty(Place),
    /// The source goes past a bound.
    TooMuch(TooMuch),
}

/// A place in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line as Graphviz counts it, from 1: `# 7 "name"` lines change the count.
    pub line: u32,
    /// The column on that line, in characters from 1.
    pub column: u32,
}

/// A place in a source where the grammar is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What Graphviz would say; a second line shows how a string that does not end begins.
    pub message: String,
    /// The line as Graphviz counts it, from 1: `# 7 "name"` lines change the count.
    pub line: u32,
    /// The column on that line, in characters from 1.
    pub column: u32,
}

impl ParseError {
    /// The line of what is wrong: of a syntax error, or where a graph should begin.
    pub fn line(&self) -> Option<u32> {
        match self {
            ParseError::Syntax(error) => Some(error.line),
            ParseError::Empty(place) => Some(place.line),
            ParseError::TooMuch(_) => None,
        }
    }

    /// The column of it.
    pub fn column(&self) -> Option<u32> {
        match self {
            ParseError::Syntax(error) => Some(error.column),
            ParseError::Empty(place) => Some(place.column),
            ParseError::TooMuch(_) => None,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Syntax(error) => f.write_str(&error.message),
            ParseError::Empty(_) => f.write_str("there is no graph in the source"),
            ParseError::TooMuch(limit) => limit.fmt(f),
        }
    }
}

impl std::error::Error for ParseError {}

impl From<SyntaxError> for ParseError {
    fn from(error: SyntaxError) -> ParseError {
        ParseError::Syntax(error)
    }
}

impl From<TooMuch> for ParseError {
    fn from(limit: TooMuch) -> ParseError {
        ParseError::TooMuch(limit)
    }
}
