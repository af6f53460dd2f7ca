//! The reader: one pass, a stack of its own, linear time.

use std::fmt::Write as _;

use super::lexer::{LexError, Lexer};
use super::{Json, JsonError, Limits, Number};
use crate::shown::shown_name;

/// Reads one document; white space around it is allowed, anything else (a byte order mark too) is not.
///
/// # Errors
/// See [`JsonError`].
pub fn parse(bytes: &[u8], limits: Limits) -> Result<Json, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotUtf8)?;
    let max_depth = limits.max_depth.min(Limits::DEPTH_MAX);
    let mut reader = Reader { text, lexer: Lexer::new(text, 0), max_depth, values: 0, open: Vec::new() };
    reader.lexer.skip_blanks();
    if reader.lexer.peek().is_none() {
        return Err(JsonError::Empty);
    }
    let document = reader.document()?;
    reader.lexer.skip_blanks();
    match reader.lexer.peek() {
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
    lexer: Lexer<'a>,
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
        self.lexer.skip_blanks();
        self.values += 1;
        if self.values > Limits::VALUES_MAX {
            return Err(JsonError::TooManyValues);
        }
        match self.lexer.peek() {
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
        self.go_deeper(b'[')?;
        if self.lexer.skip_if(b']') {
            return Ok(Some(Json::Array(Vec::new())));
        }
        self.open.push(Open::Array(Vec::new()));
        Ok(None)
    }

    fn open_object(&mut self) -> Result<Option<Json>, JsonError> {
        self.go_deeper(b'{')?;
        if self.lexer.skip_if(b'}') {
            return Ok(Some(Json::Object(Vec::new())));
        }
        let name = self.member_name()?;
        self.open.push(Open::Object(Vec::new(), name));
        Ok(None)
    }

    /// Steps over the bracket and the blanks behind it, if one more level is allowed.
    fn go_deeper(&mut self, bracket: u8) -> Result<(), JsonError> {
        if self.open.len() >= self.max_depth {
            return Err(JsonError::TooDeep);
        }
        self.lexer.skip_if(bracket);
        self.lexer.skip_blanks();
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
        self.lexer.skip_blanks();
        if self.lexer.skip_if(b',') {
            if closing == b'}' {
                self.lexer.skip_blanks();
                let next = self.member_name()?;
                if let Some(Open::Object(_, name)) = self.open.last_mut() {
                    *name = next;
                }
            }
            return Ok(Placed::MoreFollows);
        }
        if !self.lexer.skip_if(closing) {
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
        if self.lexer.peek() != Some(b'"') {
            return Err(self.malformed());
        }
        let name = self.string()?;
        self.lexer.skip_blanks();
        if self.lexer.skip_if(b':') { Ok(name) } else { Err(self.malformed()) }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Option<Json>, JsonError> {
        let at = self.lexer.at();
        match self.lexer.word(word) {
            Ok(()) => Ok(Some(value)),
            // What is told is where the word begins that is none.
            Err(error) => Err(self.error(LexError { at, ..error })),
        }
    }

    fn number(&mut self) -> Result<Number, JsonError> {
        let range = self.lexer.number().map_err(|error| self.error(error))?;
        let text = self.text.get(range).unwrap_or_default();
        if text.len() > Limits::NUMBER_LEN_MAX { Err(JsonError::NumberTooLong) } else { Ok(Number(text.into())) }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        match self.lexer.string() {
            Ok(text) => Ok(text.into_owned()),
            Err(error) => Err(self.error(error)),
        }
    }

    fn malformed(&self) -> JsonError {
        self.error(self.lexer.malformed())
    }

    fn error(&self, LexError { at, .. }: LexError) -> JsonError {
        let before = self.text.get(..at).unwrap_or_default();
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
