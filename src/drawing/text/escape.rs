//! Escapes in labels: `\n`, `\l`, `\r` end lines, `\N`, `\G`, `\E`, `\T`, `\H`, `\L` stand for names.

use super::entities::decode_entities;
use super::lines::Justify;

/// What the escapes of names stand for. Empty where the object has no such name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// `\G`: the graph, or the cluster of a cluster's label.
    pub graph: Option<&'a str>,
    /// `\N`: the node.
    pub node: Option<&'a str>,
    /// `\E`: the edge, such as `a->b`.
    pub edge: Option<&'a str>,
    /// `\T`: the tail's name.
    pub tail: Option<&'a str>,
    /// `\H`: the head's name.
    pub head: Option<&'a str>,
    /// `\L`: the label as it was written; only tooltips and links may use it.
    pub label: Option<&'a str>,
}

impl<'a> Names<'a> {
    fn get(&self, letter: char) -> Option<&'a str> {
        match letter {
            'G' => self.graph,
            'N' => self.node,
            'E' => self.edge,
            'T' => self.tail,
            'H' => self.head,
            'L' => self.label,
            _ => None,
        }
    }
}

/// How long a text may become by the names that are put in, in bytes; what would stand behind is cut off.
const LONGEST: usize = 1 << 16;

/// How long a text becomes by the names that are put in.
pub fn substituted_bytes(text: &str, names: &Names<'_>) -> usize {
    let mut bytes = text.len();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\'
            && let Some(name) = chars.next().and_then(|letter| names.get(letter))
        {
            bytes += name.len();
        }
    }
    bytes
}

/// Puts names where `\N` and its like stand, and leaves every other escape as it is.
pub fn substitute(text: &str, names: &Names<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next().filter(|_| out.len() < LONGEST) {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(letter) => match names.get(letter) {
                Some(name) => out.push_str(name),
                None => {
                    out.push('\\');
                    out.push(letter);
                }
            },
            None => out.push('\\'),
        }
    }
    out
}

/// The lines of a label: names put in, entities decoded, lines cut at `\n`, `\l`, `\r` and at line ends.
///
/// A line end after the last line opens no new one.
pub fn expand(text: &str, names: &Names<'_>) -> Vec<(String, Justify)> {
    let text = decode_entities(&substitute(text, names));
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut is_open = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let end = match c {
            '\n' => Some(Justify::Center),
            '\\' => match chars.next() {
                Some('n') => Some(Justify::Center),
                Some('l') => Some(Justify::Left),
                Some('r') => Some(Justify::Right),
                Some(other) => {
                    line.push(other);
                    None
                }
                None => None,
            },
            _ => {
                line.push(c);
                None
            }
        };
        is_open = end.is_none();
        if let Some(justify) = end {
            lines.push((std::mem::take(&mut line), justify));
        }
    }
    if is_open {
        lines.push((line, Justify::Center));
    }
    lines
}
