//! What commands print: results on standard output, complaints on standard error.

use std::io::Write;

use serde::Serialize;

use super::CliError;
pub use crate::measures::{duration, size};

/// How results are printed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputArguments {
    /// Print one JSON value instead of text for people
    #[arg(long)]
    pub json: bool,
}

/// Prints a line on standard output. A reader that went away (`| head`) is no failure.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Prints a line of progress on standard error.
pub fn progress(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints why a command failed and what to do.
pub fn complain(error: &CliError) {
    let mut err = std::io::stderr().lock();
    let _ = writeln!(err, "quintet: {}", error.reason);
    if let Some(hint) = &error.hint {
        let _ = writeln!(err, "  what to do: {hint}");
    }
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn say_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(CliError::failed)?;
    say(&text);
    Ok(())
}

/// Prints rows under headings, in columns as wide as they need to be.
pub fn say_table(headings: &[&str], rows: &[Vec<String>]) {
    for line in table(headings, rows) {
        say(&line);
    }
}

/// The lines of a table.
#[must_use]
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let heading: Vec<String> = headings.iter().map(|text| text.to_uppercase()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&heading).chain(rows).collect();
    let width_of = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width_of).collect();
    let line = |row: &&Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    all.iter().map(line).collect()
}

/// A text behind a word or a mark, in lines of at most `width` columns, the later ones indented. What holds no space is
/// not broken.
#[must_use]
pub fn wrapped(mark: &str, text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = vec![mark.to_string()];
    let mut is_begun = false;
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if is_begun && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{:indent$}{word}", ""));
            continue;
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    lines
}

/// Text of a server for the terminal: control characters (a tenant's name may hold some) are escaped, and so is what turns
/// the direction of the text behind it (Unicode's bidirectional controls, UAX #9), or is seen by nobody.
#[must_use]
pub fn plain(text: &str) -> String {
    let turns = |c| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let shown = |c: char| if c.is_control() || turns(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] };
    text.chars().flat_map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".to_string(), "long cell".to_string()], vec!["bcd".to_string(), "x".to_string()]];
        assert_eq!(table(&["id", "name"], &rows), ["ID   NAME", "a    long cell", "bcd  x"]);
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrapped("! ", "one two three", 2, 9), ["! one two", "  three"]);
        assert_eq!(wrapped("! ", "averylongword on", 2, 9), ["! averylongword", "  on"]);
        assert_eq!(wrapped("a  ", "", 3, 9), ["a  "]);
    }

    #[test]
    fn terminals_are_safe_from_names() {
        assert_eq!(plain("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
    }
}
