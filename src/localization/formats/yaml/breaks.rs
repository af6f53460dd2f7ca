//! Characters that YAML 1.1 and 1.2 read differently, and those that neither allows.

use crate::formats::bytes::part;
use crate::formats::refusal::{Code, Offence};

/// Whether a character may stand in a YAML file as it is, to YAML 1.1 and 1.2 alike. What may not is a control
/// character or begins with EF in UTF-8.
pub fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

/// Whether a character may stand in a YAML file that is read: U+FEFF besides, though nobody should write it as it is.
pub fn is_readable(c: char) -> bool {
    is_printable(c) || c == '\u{feff}'
}

/// Next line, line separator, paragraph separator: line breaks in YAML 1.1, none in 1.2.
pub fn is_disputed_break(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The disputed line breaks of a file, in order. Between other characters inside quotes the separators are read alike by
/// all: as themselves. Elsewhere they end a line for some readers and not for others.
pub struct DisputedBreaks {
    places: Vec<usize>,
    next: usize,
}

impl DisputedBreaks {
    pub fn of(text: &str) -> DisputedBreaks {
        // All three begin with one of two bytes that are rare enough.
        let bytes = text.as_bytes();
        let candidates = bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, 0xc2 | 0xe2));
        let places = candidates
            .map(|(at, _)| at)
            .filter(|at| text.get(*at..).and_then(|rest| rest.chars().next()).is_some_and(is_disputed_break))
            .collect();
        DisputedBreaks { places, next: 0 }
    }

    /// Refuses one that stands before `until`.
    pub fn none_before(&mut self, until: usize) -> Result<(), Offence> {
        match self.places.get(self.next) {
            Some(&at) if at < until => Err(Offence::new(Code::UnsupportedConstruct, at)),
            _ => Ok(()),
        }
    }

    /// Passes over those in a scalar in quotes from `start` to `end`.
    pub fn quoted(&mut self, bytes: &[u8], start: usize, end: usize) -> Result<(), Offence> {
        self.none_before(start)?;
        while let Some(&at) = self.places.get(self.next).filter(|at| **at < end) {
            let width = if bytes.get(at) == Some(&0xc2) { 2 } else { 3 };
            let blank = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'\\'));
            let neighbour = self.places.get(self.next + 1) == Some(&(at + width));
            // Next line is folded into a space by those who take it for a line break; the others stay what they are.
            if width == 2 || neighbour || blank(part(bytes, ..at).last()) || blank(bytes.get(at + width)) {
                return Err(Offence::new(Code::UnsupportedConstruct, at));
            }
            self.next += 1;
        }
        Ok(())
    }
}
