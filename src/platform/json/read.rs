//! The reader: one pass, a stack of its own, linear time.

use std::fmt::Write as _;

use super::{Json, JsonError, Limits, Number};
use crate::http::shown_name;

/// Reads one document; white space around it is allowed, anything else (a byte order mark too) is not.
///
/// # Errors
/// See [`JsonError`].
pub fn parse(bytes: &[u8], limits: Limits) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotUtf8)?;
    let max_depth = limits.max_depth.min(Limits::DEPTH_MAX);
    let mut reader = Reader { text, at: 0, max_depth, values: 0, open: Vec::new() };
    reader.skip_blanks();
    if reader.peek().is_none() {
        return Err(JsonError::Empty);
    }
    let document = reader.document()?;
    reader.skip_blanks();
    match reader.peek() {
        None => Ok(document),
        Some(_) => Err(reader.malformed()),
    }
}

/// A container whose end has not been read.
enum Open {
    Array(Vec<Json>),
    /// The members so far, and the name whose value is being read.
    Object(Vec<(String, Json)>, String),
}

struct Reader<'a> {
    text: &'a str,
    /// A byte offset, always at the start of a character.
    at: usize,
    max_depth: usize,
    values: usize,
    open: Vec<Open>,
}

impl Reader<'_> {
    /// Every round reads a scalar or opens or closes a container, until the outermost value is complete.
    fn document(&mut self) -> Result<Json, JsonError> {
        loop {
            let Some(mut value) = self.scalar_or_open()? else { continue };
            loop {
                match self.place(value)? {
                    Placed::Document(document) => return Ok(document),
                    Placed::Closed(container) => value = container,
                    Placed::MoreFollows => break,
                }
            }
        }
    }

    /// Reads a value's beginning: a complete value, or `None` after opening a container that is not empty.
    fn scalar_or_open(&mut self) -> Result<Option<Json>, JsonError> {
        self.skip_blanks();
        self.values += 1;
        if self.values > Limits::VALUES_MAX {
            return Err(JsonError::TooManyValues);
        }
        match self.peek() {
            Some(b'{') => self.open_object(),
            Some(b'[') => self.open_array(),
            Some(b'"') => Ok(Some(Json::String(self.string()?))),
            Some(b'-' | b'0'..=b'9') => Ok(Some(Json::Number(self.number()?))),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.malformed()),
        }
    }

    fn open_array(&mut self) -> Result<Option<Json>, JsonError> {
        self.go_deeper()?;
        if self.skip_if(b']') {
            return Ok(Some(Json::Array(Vec::new())));
        }
        self.open.push(Open::Array(Vec::new()));
        Ok(None)
    }

    fn open_object(&mut self) -> Result<Option<Json>, JsonError> {
        self.go_deeper()?;
        if self.skip_if(b'}') {
            return Ok(Some(Json::Object(Vec::new())));
        }
        let name = self.member_name()?;
        self.open.push(Open::Object(Vec::new(), name));
        Ok(None)
    }

    /// Steps over the bracket and the blanks behind it, if one more level is allowed.
    fn go_deeper(&mut self) -> Result<(), JsonError> {
        if self.open.len() >= self.max_depth {
            return Err(JsonError::TooDeep);
        }
        self.at += 1;
        self.skip_blanks();
        Ok(())
    }

    /// Puts a complete value into the innermost open container and reads what follows it.
    fn place(&mut self, value: Json) -> Result<Placed, JsonError> {
        let Some(innermost) = self.open.last_mut() else { return Ok(Placed::Document(value)) };
        let closing = match innermost {
            Open::Array(values) => {
                values.push(value);
                b']'
            }
            Open::Object(members, name) => {
                members.push((std::mem::take(name), value));
                b'}'
            }
        };
        self.skip_blanks();
        if self.skip_if(b',') {
            if closing == b'}' {
                self.skip_blanks();
                let next = self.member_name()?;
                if let Some(Open::Object(_, name)) = self.open.last_mut() {
                    *name = next;
                }
            }
            return Ok(Placed::MoreFollows);
        }
        if !self.skip_if(closing) {
            return Err(self.malformed());
        }
        self.close()
    }

    fn close(&mut self) -> Result<Placed, JsonError> {
        match self.open.pop() {
            Some(Open::Array(values)) => Ok(Placed::Closed(Json::Array(values))),
            Some(Open::Object(members, _)) => match duplicate(&members) {
                Some(name) => Err(JsonError::DuplicateKey { path: self.path(name) }),
                None => Ok(Placed::Closed(Json::Object(members))),
            },
            None => Err(self.malformed()),
        }
    }

    /// A member's name and the colon behind it.
    fn member_name(&mut self) -> Result<String, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.malformed());
        }
        let name = self.string()?;
        self.skip_blanks();
        if self.skip_if(b':') { Ok(name) } else { Err(self.malformed()) }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Option<Json>, JsonError> {
        if self.rest().starts_with(word) {
            self.at += word.len();
            Ok(Some(value))
        } else {
            Err(self.malformed())
        }
    }

    /// RFC 8259, section 6: `-`, an integer without leading zeros, a fraction, an exponent.
    fn number(&mut self) -> Result<Number, JsonError> {
        let start = self.at;
        self.skip_if(b'-');
        if !self.skip_if(b'0') {
            self.digits()?;
        }
        if self.skip_if(b'.') {
            self.digits()?;
        }
        if self.skip_if(b'e') || self.skip_if(b'E') {
            if !self.skip_if(b'+') {
                self.skip_if(b'-');
            }
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if text.len() > Limits::NUMBER_LEN_MAX { Err(JsonError::NumberTooLong) } else { Ok(Number(text.into())) }
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), JsonError> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        if count == 0 { Err(self.malformed()) } else { Ok(()) }
    }

    /// RFC 8259, section 7; the reader stands at the opening quote.
    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut string = String::new();
        loop {
            let plain = self.rest().bytes().take_while(|&byte| byte >= b' ' && byte != b'"' && byte != b'\\').count();
            string.push_str(self.rest().get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                _ => return Err(self.malformed()),
            }
        }
    }

    /// An escape; the reader stands at the backslash and stays there if it is malformed.
    fn escape(&mut self) -> Result<char, JsonError> {
        let escaped = match self.rest().as_bytes().get(1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.malformed()),
        };
        self.at += 2;
        Ok(escaped)
    }

    /// `\uXXXX`, or a pair of them that is one character.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let high = self.utf16_unit(0).ok_or_else(|| self.malformed())?;
        if let Some(plain) = char::from_u32(high) {
            self.at += 6;
            return Ok(plain);
        }
        let low = self.utf16_unit(6).ok_or_else(|| self.malformed())?;
        if !(0xD800..0xDC00).contains(&high) || !(0xDC00..0xE000).contains(&low) {
            return Err(self.malformed());
        }
        let paired = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        self.at += 12;
        char::from_u32(paired).ok_or_else(|| self.malformed())
    }

    /// The four hexadecimal digits of a `\u` that begins `ahead` bytes from here.
    fn utf16_unit(&self, ahead: usize) -> Option<u32> {
        let escape = self.rest().as_bytes().get(ahead..ahead + 6)?;
        let hex = escape.strip_prefix(b"\\u")?;
        hex.iter().try_fold(0, |unit, &byte| Some(unit * 16 + char::from(byte).to_digit(16)?))
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn malformed(&self) -> JsonError {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        JsonError::Malformed { line, column }
    }

    /// The path of a member of the container that has just been closed.
    fn path(&self, name: &str) -> String {
        let mut path = String::new();
        for open in &self.open {
            match open {
                Open::Array(values) => {
                    let _ = write!(path, "[{}]", values.len());
                }
                Open::Object(_, name) => push_name(&mut path, name),
            }
        }
        push_name(&mut path, name);
        path
    }
}

/// What came of placing a value.
enum Placed {
    /// It was the outermost one.
    Document(Json),
    /// It was its container's last; the container is a complete value now.
    Closed(Json),
    /// Its container goes on.
    MoreFollows,
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&shown_name(name));
}

/// A name that occurs twice. Sorting keeps it at n log n without hashing what an attacker chose.
fn duplicate(members: &[(String, Json)]) -> Option<&str> {
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.array_windows().find(|[one, next]| one == next).map(|[one, _]| *one)
}
