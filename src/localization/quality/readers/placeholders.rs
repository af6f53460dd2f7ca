//! All placeholders of a text. A place that several dialects could claim belongs to the first of: `{{x}}` and `$t()`; `${x}`;
//! `%{x}`, `%<x>f`; `%(x)s`; printf; `{x}` (localization, Q2). They begin with different characters or are told apart by
//! the second one, so that one pass finds what masking one dialect after the other would.

use super::braces::{brace, dollar, mustache, nesting, underscores};
use super::bytes::{at, find, skip, slice};
use super::enclosed::Enclosed;
use super::links::Link;
use super::message::{Message, Part, Piece};
use super::percent::{Percent, PercentStyle, percent};
use super::placeholder::{Dialect, Placeholder};

/// What a text has of placeholders.
#[derive(Clone, Debug, Default)]
pub struct Placeholders<'a> {
    /// In order, without overlaps.
    pub found: Vec<Placeholder<'a>>,
    /// What opens and is never closed, of `{{`, `$t(` and `%{`.
    pub unclosed: Vec<&'static str>,
}

/// Finds the placeholders of a text. If it is a message, its braces have been read and no other dialect has a part in them.
#[must_use]
pub fn placeholders<'a>(text: &'a str, links: &[Link<'a>], message: Option<&Message<'a>>) -> Placeholders<'a> {
    let mut scan = Scan { text, links, is_message: message.is_some(), ..Scan::default() };
    let mut place = 0;
    while let Some(mark) = find(text, place, |byte| matches!(byte, b'{' | b'$' | b'%' | b'_')) {
        place = match at(text, mark) {
            b'%' => scan.percent(mark),
            b'$' => scan.dollar(mark),
            b'_' => scan.underscore(mark),
            _ => scan.brace(mark),
        };
    }
    let mut read = scan.read;
    if let Some(message) = message {
        read.found.extend(message.pieces.iter().filter_map(argument));
        read.found.sort_by_key(|found| found.range.start);
        // The style of an argument may look like one of another dialect.
        read.found.dedup_by(|next, kept| next.range.start < kept.range.end);
    }
    read
}

/// The placeholder that a part of a message is.
fn argument<'a>(piece: &Piece<'a>) -> Option<Placeholder<'a>> {
    let (name, class) = match piece.part {
        // Both show the number as the language writes it, as `#` does.
        Part::Argument { name, class } => (name, if class == "number" { "" } else { class }),
        Part::Number { name } => (name, ""),
        _ => return None,
    };
    Some(Placeholder { range: piece.range.clone(), dialect: Dialect::Brace, name: name.into(), number: 0, class })
}

/// A text, and what is known of it so far.
#[derive(Default)]
struct Scan<'a, 'l> {
    text: &'a str,
    links: &'l [Link<'a>],
    is_message: bool,
    read: Placeholders<'a>,
    parentheses: Option<Enclosed>,
    braces: Option<Enclosed>,
    style: Option<PercentStyle>,
    /// How many arguments printf has taken.
    argument: u32,
}

impl<'a> Scan<'a, '_> {
    /// Keeps what was found at a place; where to look on.
    fn take(&mut self, placeholder: Placeholder<'a>) -> usize {
        let end = placeholder.range.end;
        self.read.found.push(placeholder);
        end
    }

    fn unclosed(&mut self, opener: &'static str, place: usize) -> usize {
        self.read.unclosed.push(opener);
        place + opener.len()
    }

    fn percent(&mut self, mark: usize) -> usize {
        let text = self.text;
        if self.is_message && at(text, mark + 1) == b'{' || self.is_escape(mark) {
            return mark + 1;
        }
        let style = *self.style.get_or_insert_with(|| PercentStyle::of(text));
        match percent(text, mark, style, &mut self.argument) {
            Percent::Placeholder(placeholder) => self.take(placeholder),
            Percent::Unclosed => self.unclosed("%{", mark),
            Percent::Other(next) => next,
        }
    }

    /// Whether it is the `%20` of an address.
    fn is_escape(&mut self, mark: usize) -> bool {
        while self.links.first().is_some_and(|link| link.range.end <= mark) {
            self.links = self.links.get(1..).unwrap_or_default();
        }
        let digits = slice(self.text, mark + 1, mark + 3);
        self.links.first().is_some_and(|link| link.range.start <= mark)
            && digits.len() == 2
            && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    }

    fn dollar(&mut self, mark: usize) -> usize {
        let text = self.text;
        let (next, after) = (at(text, mark + 1), at(text, mark + 2));
        if self.is_message {
            return mark + 1;
        }
        if next == b't' && after == b'(' {
            let enclosed = self.parentheses.get_or_insert_with(|| Enclosed::of(text, b'(', b')'));
            return match nesting(text, mark, enclosed) {
                Some(placeholder) => self.take(placeholder),
                None => self.unclosed("$t(", mark),
            };
        }
        let placeholder = if next == b'{' { dollar(text, mark) } else { None };
        placeholder.map_or(mark + 1, |placeholder| self.take(placeholder))
    }

    fn underscore(&mut self, mark: usize) -> usize {
        let text = self.text;
        if at(text, mark + 1) != b'_' {
            return mark + 1;
        }
        let next = skip(text, mark, |byte| byte == b'_');
        let placeholder = if next == mark + 2 { underscores(text, mark) } else { None };
        placeholder.map_or(next, |placeholder| self.take(placeholder))
    }

    fn brace(&mut self, mark: usize) -> usize {
        let text = self.text;
        if self.is_message {
            return mark + 1;
        }
        if at(text, mark + 1) == b'{' {
            return match mustache(text, mark) {
                Some(placeholder) => self.take(placeholder),
                // Of three braces the first may be the text's own.
                None if at(text, mark + 2) == b'{' => mark + 1,
                None => self.unclosed("{{", mark),
            };
        }
        brace(text, mark, &mut self.braces).map_or(mark + 1, |placeholder| self.take(placeholder))
    }
}
