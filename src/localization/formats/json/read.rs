//! Reading JSON: a scanner that remembers where things stand.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::time::Instant;

use super::plurals;
use crate::formats::budget::Budget;
use crate::formats::bytes::part;
use crate::formats::limits::DEPTH_MAX;
use crate::formats::model::{Leaf, Member, Path, Scan, Style, expected_values};
use crate::formats::refusal::{Code, Offence};

/// Reads a file whose text begins at byte `start`.
pub fn scan(text: &str, start: usize, budget: &mut Budget) -> Result<Scan, Offence> {
    let mut scanner = Scanner::new(text, start, budget);
    scanner.document()?;
    let Scanner { suffixed, mut found, .. } = scanner;
    found.plurals = suffixed.into_plurals();
    Ok(found)
}

/// What a string says that was read before.
pub fn decode(written: &str) -> String {
    let mut budget = Budget::until(Instant::now());
    let mut scanner = Scanner::new(written, 0, &mut budget);
    scanner.string().map_or(String::new(), Cow::into_owned)
}

struct Scanner<'t, 'd> {
    text: &'t str,
    at: usize,
    budget: &'d mut Budget,
    path: Path,
    /// The names of all members, each with its object.
    names: HashSet<(usize, Cow<'t, str>)>,
    objects: usize,
    suffixed: plurals::Suffixed,
    found: Scan,
}

/// Where a value stands: the name before it, if it has one, and its member.
struct Place {
    key: Range<usize>,
    member: Option<usize>,
}

impl<'t, 'd> Scanner<'t, 'd> {
    fn new(text: &'t str, start: usize, budget: &'d mut Budget) -> Self {
        let expected = expected_values(text.len());
        Scanner {
            text,
            at: start,
            budget,
            path: Path::default(),
            names: HashSet::with_capacity(expected),
            objects: 0,
            suffixed: plurals::Suffixed::default(),
            found: Scan {
                leaves: Vec::with_capacity(expected),
                members: Vec::with_capacity(expected),
                ..Scan::default()
            },
        }
    }

    fn document(&mut self) -> Result<(), Offence> {
        self.white_space();
        match self.peek() {
            Some(b'{') => self.object(1)?,
            Some(b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                return Err(self.offence(Code::UnsupportedConstruct));
            }
            _ => return Err(self.offence(Code::Malformed)),
        }
        self.white_space();
        if self.at < self.text.len() { Err(self.offence(Code::Malformed)) } else { Ok(()) }
    }

    fn object(&mut self, depth: usize) -> Result<(), Offence> {
        self.open(depth)?;
        let object = self.objects;
        self.objects += 1;
        let base = self.path.len();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.at;
            let name = self.string().map_err(as_key)?;
            let key = key..self.at;
            if !self.names.insert((object, name.clone())) {
                return Err(Offence::new(Code::DuplicateKey, key.start));
            }
            self.white_space();
            self.expect(b':')?;
            self.white_space();
            let member = self.found.members.len();
            self.found.members.push(Member { object, start: key.start, end: 0, comma: None });
            self.path.set(base, depth == 1, &name);
            let leaf = self.value(depth, Place { key, member: Some(member) })?;
            self.suffixed.add(object, &name, leaf);
            let end = self.at;
            self.white_space();
            let comma = (self.peek() == Some(b',')).then_some(self.at);
            if let Some(member) = self.found.members.get_mut(member) {
                member.end = end;
                member.comma = comma;
            }
            if comma.is_none() {
                return self.expect(b'}');
            }
            self.at += 1;
            self.white_space();
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Offence> {
        self.open(depth)?;
        let base = self.path.len();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        for index in 0_usize.. {
            self.path.set(base, false, &index.to_string());
            self.value(depth, Place { key: self.at..self.at, member: None })?;
            self.white_space();
            if self.peek() != Some(b',') {
                break;
            }
            self.at += 1;
            self.white_space();
        }
        self.expect(b']')
    }

    /// Reads a bracket or brace and the white space behind it.
    fn open(&mut self, depth: usize) -> Result<(), Offence> {
        if depth > DEPTH_MAX {
            return Err(self.offence(Code::NestingTooDeep));
        }
        self.at += 1;
        self.white_space();
        Ok(())
    }

    /// Reads a value; the leaf it became, if it is a string.
    fn value(&mut self, depth: usize, place: Place) -> Result<Option<usize>, Offence> {
        self.budget.value(self.at)?;
        match self.peek() {
            Some(b'{') => self.object(depth + 1)?,
            Some(b'[') => self.array(depth + 1)?,
            Some(b'"') => return self.leaf(place).map(Some),
            Some(b't') => self.literal("true")?,
            Some(b'f') => self.literal("false")?,
            Some(b'n') => self.literal("null")?,
            _ => self.number()?,
        }
        Ok(None)
    }

    fn leaf(&mut self, Place { key, member }: Place) -> Result<usize, Offence> {
        let path = self.path.checked().ok_or(Offence::new(Code::KeyTooLong, key.start))?.into_owned();
        if path.is_empty() {
            return Err(Offence::new(Code::KeyInvalid, key.start));
        }
        let start = self.at;
        self.budget.unit(start, path.len())?;
        let text = self.string()?.into_owned();
        let value = start..self.at;
        self.found.leaves.push(Leaf { path, text, key, value, style: Style::Json { member } });
        Ok(self.found.leaves.len() - 1)
    }

    fn string(&mut self) -> Result<Cow<'t, str>, Offence> {
        self.expect(b'"')?;
        let start = self.at;
        let mut decoded: Option<String> = None;
        let mut copied = start;
        loop {
            let rest = part(self.text.as_bytes(), self.at..);
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            let Some(plain) = plain else { return Err(Offence::new(Code::Malformed, self.text.len())) };
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    let tail = self.text.get(copied..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(match decoded {
                        None => Cow::Borrowed(tail),
                        Some(mut text) => {
                            text.push_str(tail);
                            Cow::Owned(text)
                        }
                    });
                }
                Some(b'\\') => {
                    let text = decoded.get_or_insert_default();
                    text.push_str(self.text.get(copied..self.at).unwrap_or_default());
                    let c = self.escape()?;
                    decoded.get_or_insert_default().push(c);
                    copied = self.at;
                }
                _ => return Err(self.offence(Code::Malformed)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Offence> {
        let start = self.at;
        self.at += 1;
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\')) => char::from(c),
            Some(b'/') => {
                self.found.escaped_slashes = true;
                '/'
            }
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(start);
            }
            _ => return Err(self.offence(Code::Malformed)),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, Offence> {
        let first = self.four_digits()?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) && part(self.text.as_bytes(), self.at..).starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            } else {
                self.at = back;
            }
        }
        let c = char::from_u32(code).filter(|c| *c != '\0');
        c.ok_or(Offence::new(Code::ValueUnrepresentable, start))
    }

    fn four_digits(&mut self) -> Result<u32, Offence> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or(self.offence(Code::Malformed))?;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<(), Offence> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// At least one.
    fn digits(&mut self) -> Result<(), Offence> {
        let count = part(self.text.as_bytes(), self.at..).iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.offence(Code::Malformed)) } else { Ok(()) }
    }

    fn literal(&mut self, word: &str) -> Result<(), Offence> {
        for byte in word.bytes() {
            self.expect(byte)?;
        }
        Ok(())
    }

    fn white_space(&mut self) {
        let rest = part(self.text.as_bytes(), self.at..);
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<(), Offence> {
        if self.peek() != Some(byte) {
            return Err(self.offence(Code::Malformed));
        }
        self.at += 1;
        Ok(())
    }

    fn offence(&self, code: Code) -> Offence {
        Offence::new(code, self.at)
    }
}

/// What makes a value unrepresentable makes a key invalid.
fn as_key(offence: Offence) -> Offence {
    match offence.code {
        Code::ValueUnrepresentable => Offence { code: Code::KeyInvalid, ..offence },
        _ => offence,
    }
}
