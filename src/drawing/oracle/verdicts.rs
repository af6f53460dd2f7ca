//! Verdicts, error lines and messages against Graphviz.

use std::time::Duration;

use super::corpus::{Case, files, mutations};
use super::graphviz::Graphviz;
use super::{everything, installed};
use crate::dot::parse;
use crate::limits::Limits;
use crate::warnings::Warnings;

/// How often the two agreed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Sources that both answered.
    pub sources: usize,
    /// Sources that both took, or both refused.
    pub verdicts: usize,
    /// Sources that both refused.
    pub refused: usize,
    /// Of these, those with the same line.
    pub lines: usize,
    /// Of these, those with the same message.
    pub messages: usize,
}

impl Agreement {
    /// Verdicts, in percent.
    pub fn verdicts_percent(&self) -> f64 {
        percent(self.verdicts, self.sources)
    }

    /// Lines, in percent.
    pub fn lines_percent(&self) -> f64 {
        percent(self.lines, self.refused)
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// The number after `in line`.
fn line_of(message: &str) -> Option<u32> {
    let (_, rest) = message.split_once("syntax error in line ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// Reads every case with both, and says on standard error where they differ.
pub fn compare(graphviz: &mut Graphviz, cases: &[Case]) -> Agreement {
    // What counts is the language; the corpus holds graphs larger than what the service takes.
    let limits = Limits {
        source_bytes: 1 << 26,
        nodes: 1_000_000,
        edges: 1_000_000,
        subgraphs: 1_000_000,
        reading_steps: 1 << 32,
        ..Limits::default()
    };
    let mut agreement = Agreement::default();
    for case in cases {
        // A byte order mark is skipped here and refused by Graphviz: meant so, and not counted.
        let source = case.source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&case.source);
        let theirs = graphviz.parse(source);
        if theirs.crashed {
            eprintln!("{}: Graphviz crashed", case.name);
            continue;
        }
        // It reports that it gave up at a depth of braces, and goes on with half a graph.
        let given_up = theirs.error().is_some_and(|error| error.contains("memory exhausted"));
        agreement.sources += 1;
        match parse(&case.source, &limits) {
            Ok(parsed) => {
                if theirs.accepted && !given_up {
                    agreement.verdicts += 1;
                    let mut warnings = Warnings::default();
                    warnings.extend(theirs.messages.iter().map(|(_, text)| text.clone()));
                    if *warnings != *parsed.warnings {
                        eprintln!("{}: warnings {:?} against {warnings:?}", case.name, parsed.warnings);
                    }
                } else {
                    eprintln!("{}: taken, but Graphviz says {:?}", case.name, theirs.error());
                }
            }
            Err(error) if theirs.accepted => eprintln!("{}: {error}, but Graphviz takes it", case.name),
            Err(error) => {
                agreement.verdicts += 1;
                let message = theirs.error().unwrap_or_default().trim_end();
                if message.is_empty() {
                    // It says nothing where not even a first token is found; a sentence is better.
                    continue;
                }
                agreement.refused += 1;
                let same_line = line_of(message).is_some() && line_of(message) == error.line();
                agreement.lines += usize::from(same_line);
                let same_message = message == error.to_string().trim_end();
                agreement.messages += usize::from(same_message);
                // The reference's answer lost what was no UTF-8.
                if !same_message && !message.contains('\u{fffd}') {
                    eprintln!("{}: {:?} against {message:?}", case.name, error.to_string());
                }
            }
        }
    }
    agreement
}

#[test]
fn verdicts_and_error_lines_are_those_of_graphviz() {
    let Some(top) = installed() else { return };
    let mut graphviz = Graphviz::new(&top, Duration::from_secs(20));
    let files = files(&top);
    let real = compare(&mut graphviz, &files);
    eprintln!("real files: {real:?}");
    let mutated = compare(&mut graphviz, &mutations(&files, if everything() { 1_500 } else { 400 }, 1));
    eprintln!("mutations: {mutated:?}");
    assert!(real.verdicts_percent() >= 99.8, "{real:?}");
    assert!(mutated.verdicts_percent() >= 99.5, "{mutated:?}");
    assert!(mutated.lines_percent() >= 97.0, "{mutated:?}");
}
