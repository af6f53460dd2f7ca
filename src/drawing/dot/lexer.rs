//! Bytes to tokens, as Graphviz cuts them.
//!
//! What the documentation leaves open was found by asking Graphviz 16.1: the white space is blank, tab, carriage return
//! and newline alone; a `#` begins a comment wherever a token may begin; `# 7 "name"` or `#line 7 "name"` at the very
//! beginning of a line sets the count of lines; HTML strings count angle brackets and know neither quotes nor comments;
//! a number ends where it can go on no further, and what then follows without a gap is a token of its own, with a
//! warning. A NUL ends the source.

use std::borrow::Cow;

use super::error::{Place, SyntaxError};
use crate::warnings::Warnings;

/// The most characters of a token that are shown where something is wrong with it.
const SHOWN_CHARS_MAX: usize = 100;

/// Part of the source, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

/// A word of the language that is no name, whatever its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// `graph`
    Graph,
    /// `digraph`
    Digraph,
    /// `node`
    Node,
    /// `edge`
    Edge,
    /// `subgraph`
    Subgraph,
    /// `strict`
    Strict,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword.
    Keyword(Keyword),
    /// A name, a number, or a quoted string; only the last kind can be joined with `+`.
    Text {
        /// The characters, quotes and escapes resolved.
        text: String,
        /// Whether it stood in quotes.
        quoted: bool,
    },
    /// An HTML-like string, without its outer brackets.
    Html(String),
    /// `->` (true) or `--` (false).
    Arrow(bool),
    /// Any other byte.
    Byte(u8),
    /// The end of the source.
    End,
}

/// A piece of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it lies.
    pub span: Span,
    /// The line of its last byte.
    pub line: u32,
}

/// Cuts a source into tokens.
#[derive(Debug)]
pub struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    line: u32,
    file: String,
    warnings: Warnings,
}

impl<'a> Lexer<'a> {
    /// Begins at the first byte of `source`.
    pub fn new(source: &'a [u8]) -> Lexer<'a> {
        let end = source.iter().position(|byte| *byte == 0).unwrap_or(source.len());
        let source = source.get(..end).unwrap_or(source);
        Lexer { source, at: 0, line: 1, file: String::new(), warnings: Warnings::default() }
    }

    /// The warnings since the last call.
    pub fn take_warnings(&mut self) -> Warnings {
        std::mem::take(&mut self.warnings)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.source.get(at).copied()
    }

    fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.source.get(start..end).unwrap_or_default()
    }

    /// The next token; after the last one, [`Kind::End`] for ever.
    ///
    /// # Errors
    /// A string or comment that does not end.
    pub fn next(&mut self) -> Result<Token, SyntaxError> {
        self.skip_blanks()?;
        let start = self.at;
        let Some(first) = self.byte(start) else {
            return Ok(self.token(Kind::End, start));
        };
        let kind = match first {
            b'"' => self.quoted()?,
            b'<' => self.html()?,
            b'-' if matches!(self.byte(start + 1), Some(b'-' | b'>')) => {
                self.at += 2;
                Kind::Arrow(self.byte(start + 1) == Some(b'>'))
            }
            _ if is_name_start(first) => self.name(),
            b'-' | b'.' | b'0'..=b'9' => self.number(),
            _ => {
                self.at += 1;
                Kind::Byte(first)
            }
        };
        Ok(self.token(kind, start))
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token { kind, span: Span { start, end: self.at }, line: self.line }
    }

    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        while let Some(byte) = self.byte(self.at) {
            match byte {
                b'\n' => {
                    self.line = self.line.saturating_add(1);
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'#' => {
                    let end = self.end_of_line();
                    if self.at == 0 || self.byte(self.at - 1) == Some(b'\n') {
                        self.line_directive(end);
                    }
                    self.at = end;
                }
                // A byte order mark that stands alone; with letters behind it, Graphviz takes it for one of them.
                0xef if self.slice(self.at, self.at + 3) == b"\xef\xbb\xbf"
                    && !self.byte(self.at + 3).is_some_and(is_name_part) =>
                {
                    self.at += 3;
                }
                b'/' if self.byte(self.at + 1) == Some(b'/') => self.at = self.end_of_line(),
                b'/' if self.byte(self.at + 1) == Some(b'*') => self.comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn end_of_line(&self) -> usize {
        let rest = self.slice(self.at, self.source.len());
        rest.iter().position(|byte| *byte == b'\n').map_or(self.source.len(), |length| self.at + length)
    }

    /// `#`, perhaps `line`, a number, perhaps a name in quotes; anything else is a comment.
    fn line_directive(&mut self, end: usize) {
        let rest = self.slice(self.at + 1, end);
        let rest = match rest.strip_prefix(b"line") {
            Some(rest) => rest,
            None => rest,
        };
        let rest = trim_blanks(rest);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let Some((number, rest)) = rest.split_at_checked(digits) else { return };
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse::<u32>().ok());
        let Some(number) = number.filter(|number| (1..=i32::MAX as u32).contains(number)) else { return };
        // The newline at the end of this line makes it the number that was meant.
        self.line = number - 1;
        if let Some(name) = trim_blanks(rest).strip_prefix(b"\"")
            && let Some(length) = name.iter().position(|byte| *byte == b'"')
            && length > 0
        {
            self.file = decode(name.get(..length).unwrap_or_default()).into_owned();
        }
    }

    fn comment(&mut self) -> Result<(), SyntaxError> {
        let mut at = self.at + 2;
        loop {
            match self.byte(at) {
                None => {
                    self.at = self.source.len();
                    let what = " scanning a /*...*/ comment (missing '*/? longer than 16384?)";
                    return Err(self.error(what, self.at));
                }
                Some(b'\n') => self.line = self.line.saturating_add(1),
                Some(b'*') if self.byte(at + 1) == Some(b'/') => break,
                Some(_) => {}
            }
            at += 1;
        }
        self.at = at + 2;
        Ok(())
    }

    /// A backslash keeps a quote in the string, joins lines, and stands for itself before all else.
    fn quoted(&mut self) -> Result<Kind, SyntaxError> {
        let mut text = Vec::new();
        let mut at = self.at + 1;
        loop {
            match self.byte(at) {
                None => {
                    let mut shown = vec![b'"'];
                    shown.extend_from_slice(&text);
                    return Err(self.unended("a quoted string (missing endquote? longer than 16384?)", &shown));
                }
                Some(b'"') => break,
                Some(b'\\') => match self.byte(at + 1) {
                    Some(b'"') => {
                        text.push(b'"');
                        at += 1;
                    }
                    Some(b'\\') => {
                        text.extend_from_slice(b"\\\\");
                        at += 1;
                    }
                    Some(b'\n') => {
                        self.line = self.line.saturating_add(1);
                        at += 1;
                    }
                    _ => text.push(b'\\'),
                },
                Some(byte) => {
                    if byte == b'\n' {
                        self.line = self.line.saturating_add(1);
                    }
                    text.push(byte);
                }
            }
            at += 1;
        }
        self.at = at + 1;
        Ok(Kind::Text { text: decode(&text).into_owned(), quoted: true })
    }

    fn html(&mut self) -> Result<Kind, SyntaxError> {
        let start = self.at + 1;
        let mut at = start;
        let mut open: usize = 1;
        loop {
            match self.byte(at) {
                None => {
                    let shown = self.slice(self.at, self.source.len());
                    return Err(self.unended("a HTML string (missing '>'? bad nesting? longer than 16384?)", shown));
                }
                Some(b'<') => open += 1,
                Some(b'>') => open -= 1,
                Some(b'\n') => self.line = self.line.saturating_add(1),
                Some(_) => {}
            }
            if open == 0 {
                break;
            }
            at += 1;
        }
        self.at = at + 1;
        Ok(Kind::Html(decode(self.slice(start, at)).into_owned()))
    }

    fn name(&mut self) -> Kind {
        let start = self.at;
        while self.byte(self.at).is_some_and(is_name_part) {
            self.at += 1;
        }
        let word = self.slice(start, self.at);
        match keyword(word) {
            Some(keyword) => Kind::Keyword(keyword),
            None => Kind::Text { text: decode(word).into_owned(), quoted: false },
        }
    }

    /// `-`, perhaps, and digits with a point before, in or after them; without digits, the byte alone.
    fn number(&mut self) -> Kind {
        let start = self.at;
        let digits = |mut at: usize| {
            while self.byte(at).is_some_and(|byte| byte.is_ascii_digit()) {
                at += 1;
            }
            at
        };
        let first = start + usize::from(self.byte(start) == Some(b'-'));
        let whole = digits(first);
        let end = match self.byte(whole) {
            Some(b'.') => digits(whole + 1),
            _ => whole,
        };
        let count = end - first - usize::from(end > whole);
        if count == 0 {
            self.at += 1;
            return Kind::Byte(self.byte(start).unwrap_or_default());
        }
        self.at = end;
        if let Some(next) = self.byte(end).filter(|next| *next == b'.' || is_name_start(*next)) {
            let text = self.shown(start, end);
            let next = char::from(next);
            let line = self.line;
            self.warnings.push(format!(
                "syntax ambiguity - badly delimited number '{text}{next}' in line {line} of input splits into two tokens"
            ));
        }
        Kind::Text { text: decode(self.slice(start, end)).into_owned(), quoted: false }
    }

    fn unended(&self, what: &str, shown: &[u8]) -> SyntaxError {
        let start = shown.get(..81).unwrap_or(shown);
        let mut text = format!(" scanning {what}");
        if start.len() > 1 {
            text.push_str(&format!("\nString starting:{}", decode(start)));
        }
        self.error(&text, self.source.len())
    }

    /// What is shown of a token: a source may be one, and whoever reads what is wrong has seen the source.
    fn shown(&self, start: usize, end: usize) -> String {
        let text = decode(self.slice(start, end));
        match text.char_indices().nth(SHOWN_CHARS_MAX) {
            Some((at, _)) => format!("{}\u{2026}", text.get(..at).unwrap_or_default()),
            None => text.into_owned(),
        }
    }

    /// The error at `token`, with what Graphviz shows of it.
    pub fn error_near(&self, token: &Token) -> SyntaxError {
        let near = match token.kind {
            Kind::End => return self.error_at("", token.line, token.span.start),
            // Graphviz shows the last piece it cut, and of strings that is the closing bracket or quote.
            Kind::Text { quoted: true, .. } => return self.error_at(" near '\"'", token.line, token.span.end - 1),
            Kind::Html(_) => return self.error_at(" near '>'", token.line, token.span.end - 1),
            _ => self.shown(token.span.start, token.span.end),
        };
        self.error_at(&format!(" near '{near}'"), token.line, token.span.start)
    }

    /// Where a token begins. A `#` line may have counted to 0, and nothing behind it on.
    pub fn place_of(&self, token: &Token) -> Place {
        Place { line: token.line.max(1), column: self.column(token.span.start) }
    }

    fn error(&self, what: &str, offset: usize) -> SyntaxError {
        self.error_at(what, self.line, offset)
    }

    fn error_at(&self, what: &str, line: u32, offset: usize) -> SyntaxError {
        let file = if self.file.is_empty() { String::new() } else { format!("{}: ", self.file) };
        let message = format!("{file}syntax error in line {line}{what}");
        SyntaxError { message, line, column: self.column(offset) }
    }

    /// The column of a byte, in characters from 1; a byte of broken UTF-8 counts as one.
    fn column(&self, offset: usize) -> u32 {
        let before = self.slice(0, offset);
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let count = decode(self.slice(start, offset)).chars().count();
        u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
    }
}

/// Text of bytes: UTF-8 where it is, and what Graphviz makes of it otherwise, Latin-1.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name_part(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

fn trim_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    text.get(blanks..).unwrap_or_default()
}

fn keyword(word: &[u8]) -> Option<Keyword> {
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    match word.len() {
        4 if is("node") => Some(Keyword::Node),
        4 if is("edge") => Some(Keyword::Edge),
        5 if is("graph") => Some(Keyword::Graph),
        6 if is("strict") => Some(Keyword::Strict),
        7 if is("digraph") => Some(Keyword::Digraph),
        8 if is("subgraph") => Some(Keyword::Subgraph),
        _ => None,
    }
}
