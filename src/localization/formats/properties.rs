//! Java properties, as `java.util.Properties.load` documents them: logical lines, comments, continuations, escapes.
//! A file is UTF-8 if it can be, else ISO-8859-1, as `PropertyResourceBundle` reads it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::budget::Budget;
use super::bytes::part;
use super::model::{Leaf, Path, Scan, Separator, Style, expected_values};
use super::refusal::{Code, Offence};

/// Reads a file whose text begins at byte `start`.
pub(super) fn scan(bytes: &[u8], start: usize, latin1: bool, budget: &mut Budget) -> Result<Scan, Offence> {
    let mut reader = Reader { bytes, at: start, latin1 };
    let expected = expected_values(bytes.len());
    let mut found = Scan { latin1, leaves: Vec::with_capacity(expected), ..Scan::default() };
    let mut names = HashSet::with_capacity(expected);
    while reader.next_logical_line()? {
        budget.step(reader.at)?;
        let leaf = reader.logical_line()?;
        if leaf.path.is_empty() {
            return Err(Offence::new(Code::KeyInvalid, leaf.key.start));
        }
        let mut path = Path::default();
        path.set(0, true, &leaf.path);
        if path.checked().is_none() {
            return Err(Offence::new(Code::KeyTooLong, leaf.key.start));
        }
        if !names.insert(leaf.path.clone()) {
            return Err(Offence::new(Code::DuplicateKey, leaf.key.start));
        }
        budget.unit(leaf.key.start, leaf.path.len())?;
        found.leaves.push(leaf);
    }
    Ok(found)
}

/// Writes a value: what Java's reader would not give back as it is becomes an escape, and besides all but ASCII if
/// `ascii`.
pub(super) fn write_value(out: &mut String, text: &str, separator: Separator, ascii: bool) {
    if separator == Separator::Missing {
        out.push('=');
    }
    let mut leading = true;
    for c in text.chars() {
        match c {
            ' ' if leading => out.push_str("\\ "),
            '=' | ':' if leading && separator == Separator::Blank => {
                out.push('\\');
                out.push(c);
            }
            c => write_character(out, c, ascii),
        }
        // Only the first character needs care: behind it, blanks are part of the value.
        leading = false;
    }
}

/// A key as Java's reader gives it back, in ASCII.
pub(super) fn written_key(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, ' ' | '=' | ':' | '#' | '!') {
            out.push('\\');
            out.push(c);
        } else {
            write_character(&mut out, c, true);
        }
    }
    out
}

/// Writes a character that has no meaning where it stands, or as an escape.
fn write_character(out: &mut String, c: char, ascii: bool) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{c}' => out.push_str("\\f"),
        c if c.is_control() || (ascii && !c.is_ascii()) => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        c => out.push(c),
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    latin1: bool,
}

/// An escape of a logical line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    /// A backslash and what it stands for, as a UTF-16 unit.
    Unit(u16),
    /// A byte, with a backslash that does not change it.
    Same(u8),
}

impl<'b> Reader<'b> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Moves to the next logical line, past blank lines and comments; whether there is one.
    fn next_logical_line(&mut self) -> Result<bool, Offence> {
        // Whether this line goes on from one that said nothing but that.
        let mut continued = false;
        loop {
            match self.peek() {
                None => return Ok(false),
                Some(b' ' | b'\t' | 0xc) => self.at += 1,
                Some(b'\r' | b'\n') => {
                    continued = false;
                    self.at += 1;
                }
                // A comment for some releases of Java, a key for others.
                Some(b'#' | b'!') if continued => return Err(Offence::new(Code::UnsupportedConstruct, self.at)),
                Some(b'#' | b'!') => {
                    let rest = part(self.bytes, self.at..);
                    self.at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
                }
                // A line that only goes on in the next one has not begun yet.
                Some(b'\\') if self.continuation(self.at) > 0 => {
                    continued = true;
                    self.at += self.continuation(self.at);
                }
                Some(b'\\') if self.at + 1 == self.bytes.len() => return Ok(false),
                Some(_) => return Ok(true),
            }
        }
    }

    /// How many bytes a backslash with the end of its line takes, if there is one at `at`; 0 if not.
    fn continuation(&self, at: usize) -> usize {
        match part(self.bytes, at..) {
            [b'\\', b'\r', b'\n', ..] => 3,
            [b'\\', b'\r' | b'\n', ..] => 2,
            _ => 0,
        }
    }

    /// Passes over continuations and the blanks that begin the lines behind them.
    fn join_lines(&mut self) {
        loop {
            let length = self.continuation(self.at);
            if length == 0 {
                return;
            }
            self.at += length;
            while matches!(self.peek(), Some(b' ' | b'\t' | 0xc)) {
                self.at += 1;
            }
        }
    }

    /// What stands here, without moving; none at the end of the logical line, where a lone backslash at the end of
    /// the file counts for nothing.
    fn raw(&mut self) -> Option<u8> {
        self.join_lines();
        match self.peek() {
            Some(b'\r' | b'\n') | None => None,
            Some(b'\\') if self.at + 1 == self.bytes.len() => None,
            byte => byte,
        }
    }

    /// Takes the bytes that stand for themselves, up to one that ends what is being read.
    fn run(&mut self, ends: impl Fn(u8) -> bool) -> &'b [u8] {
        let rest = part(self.bytes, self.at..);
        let special = |byte: &u8| matches!(byte, b'\\' | b'\r' | b'\n' | 0) || ends(*byte);
        let length = rest.iter().position(special).unwrap_or(rest.len());
        self.at += length;
        part(rest, ..length)
    }

    fn item(&mut self) -> Result<Option<Item>, Offence> {
        let Some(byte) = self.raw() else { return Ok(None) };
        let start = self.at;
        if byte == 0 {
            return Err(Offence::new(Code::EncodingInvalid, start));
        }
        self.at += 1;
        // All other bytes are part of a run.
        if byte != b'\\' {
            return Ok(Some(Item::Same(byte)));
        }
        // A backslash before the end of the line is a continuation, so something follows; it may be in a later line,
        // since the reader joins lines first.
        let Some(escaped) = self.peek() else { return Ok(None) };
        self.at += 1;
        Ok(Some(match escaped {
            b't' => Item::Unit(0x09),
            b'n' => Item::Unit(0x0a),
            b'r' => Item::Unit(0x0d),
            b'f' => Item::Unit(0x0c),
            b'u' => {
                let mut unit = 0;
                for _ in 0..4 {
                    let digit = self.raw().and_then(|byte| char::from(byte).to_digit(16));
                    let digit = digit.and_then(|digit| u16::try_from(digit).ok());
                    unit = unit * 16 + digit.ok_or(Offence::new(Code::Malformed, start))?;
                    self.at += 1;
                }
                Item::Unit(unit)
            }
            0 => return Err(Offence::new(Code::EncodingInvalid, start + 1)),
            other => Item::Same(other),
        }))
    }

    fn logical_line(&mut self) -> Result<Leaf, Offence> {
        let key_start = self.at;
        let mut key = Text::new(self.latin1);
        let mut key_end = self.at;
        let mut separator = Separator::Missing;
        while let Some(byte) = self.raw() {
            match byte {
                b'=' | b':' => {
                    separator = Separator::Sign;
                    self.at += 1;
                    break;
                }
                b' ' | b'\t' | 0xc => {
                    separator = Separator::Blank;
                    self.at += 1;
                    break;
                }
                _ => {}
            }
            let start = self.at;
            let run = self.run(|byte| matches!(byte, b'=' | b':' | b' ' | b'\t' | 0xc));
            if !run.is_empty() {
                key.push_all(run).map_err(as_key)?;
            } else {
                let Some(item) = self.item()? else { break };
                key.push(item, start).map_err(as_key)?;
            }
            key_end = self.at;
        }
        while let Some(byte) = self.raw() {
            match byte {
                b' ' | b'\t' | 0xc => {}
                b'=' | b':' if separator != Separator::Sign => separator = Separator::Sign,
                _ => break,
            }
            self.at += 1;
        }
        let start = self.at;
        let mut value = Text::new(self.latin1);
        loop {
            // The place of an item lies behind the continuation before it.
            self.join_lines();
            let run = self.run(|_| false);
            if !run.is_empty() {
                value.push_all(run)?;
                continue;
            }
            let start = self.at;
            let Some(item) = self.item()? else { break };
            value.push(item, start)?;
        }
        // A lone backslash at the end of the file belongs to what is replaced.
        if self.peek() == Some(b'\\') {
            self.at += 1;
        }
        let path = key.finish().map_err(as_key)?;
        let text = value.finish()?;
        let key = key_start..key_end;
        Ok(Leaf { path, text, key, value: Range { start, end: self.at }, style: Style::Property(separator) })
    }
}

/// A key or value being put together.
struct Text {
    text: String,
    /// Bytes of UTF-8 that are not in `text` yet.
    pending: Vec<u8>,
    latin1: bool,
    /// A high surrogate that waits for a low one, and where it was written.
    high: Option<(u16, usize)>,
}

impl Text {
    fn new(latin1: bool) -> Text {
        Text { text: String::new(), pending: Vec::new(), latin1, high: None }
    }

    fn push(&mut self, item: Item, at: usize) -> Result<(), Offence> {
        let unit = match item {
            Item::Unit(unit) => unit,
            Item::Same(byte) => return self.push_all(&[byte]),
        };
        self.flush();
        let pair = match (self.high.take(), unit) {
            (Some((high, _)), 0xdc00..=0xdfff) => char::decode_utf16([high, unit]).next().and_then(Result::ok),
            (Some((_, at)), _) => return Err(Offence::new(Code::ValueUnrepresentable, at)),
            (None, 0xd800..=0xdbff) => {
                self.high = Some((unit, at));
                return Ok(());
            }
            (None, _) => char::from_u32(unit.into()),
        };
        let c = pair.filter(|c| *c != '\0').ok_or(Offence::new(Code::ValueUnrepresentable, at))?;
        self.text.push(c);
        Ok(())
    }

    fn push_all(&mut self, bytes: &[u8]) -> Result<(), Offence> {
        self.no_half_pair()?;
        if self.latin1 {
            self.text.extend(bytes.iter().map(|byte| char::from(*byte)));
        } else {
            self.pending.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn no_half_pair(&self) -> Result<(), Offence> {
        self.high.map_or(Ok(()), |(_, at)| Err(Offence::new(Code::ValueUnrepresentable, at)))
    }

    /// The file is known to be UTF-8, and an escape never stands inside a character.
    fn flush(&mut self) {
        if !self.pending.is_empty() {
            self.text.push_str(&String::from_utf8_lossy(&self.pending));
            self.pending.clear();
        }
    }

    fn finish(mut self) -> Result<String, Offence> {
        self.no_half_pair()?;
        self.flush();
        Ok(self.text)
    }
}

/// What makes a value unrepresentable makes a key invalid.
fn as_key(offence: Offence) -> Offence {
    match offence.code {
        Code::ValueUnrepresentable => Offence { code: Code::KeyInvalid, ..offence },
        _ => offence,
    }
}
