//! What is wrong with a shift: where, what stands there, and what would be right.

use std::fmt;

/// The most characters of the text that an error shows.
const FOUND_CHARACTERS_MAX: usize = 40;

/// A shift definition that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftError {
    /// The line, from 1. A line ends with a line feed.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What stands there: at most some 40 characters of the text, without control characters.
    pub found: String,
    /// What would be right.
    pub expected: String,
}

impl ShiftError {
    /// An error at a byte of the text.
    pub(super) fn new(text: &str, at: usize, found: &str, expected: impl Into<String>) -> ShiftError {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end.saturating_add(1));
        ShiftError {
            line: before.matches('\n').count().saturating_add(1),
            column: before.get(line_start..).unwrap_or_default().chars().count().saturating_add(1),
            found: shown(found),
            expected: expected.into(),
        }
    }
}

impl fmt::Display for ShiftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: found {}, expected {}", self.line, self.column, self.found, self.expected)
    }
}

impl std::error::Error for ShiftError {}

/// A piece of somebody's text that may be put into a message: short, on one line.
fn shown(found: &str) -> String {
    let mut shown: String = found
        .chars()
        .take(FOUND_CHARACTERS_MAX)
        .map(|character| if character.is_control() { '\u{fffd}' } else { character })
        .collect();
    if found.chars().nth(FOUND_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
