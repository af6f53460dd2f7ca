//! Reads a document, token by token.

use std::io::Read;
use std::time::Instant;

use memchr::{memchr, memchr2};

use super::characters::{is_character, is_name, is_space, referred};
use super::fault::ReadError;
use super::input::{Coding, Input};
use super::scan::{DOCTYPE, doctype_end, end_tag_end, instruction_end, reference_end, tag_end, undecided};
use super::tag::{Namespace, Scopes, Tag, TagFault};
use crate::formats::budget::Budget;
use crate::formats::limits::DEPTH_MAX;
use crate::formats::refusal::Code;

/// The longest tag, reference, processing instruction or DOCTYPE, in bytes: those are looked at as a whole.
const TOKEN_BYTES_MAX: usize = 1 << 20;

/// The most that may be kept of one unit, in bytes.
const UNIT_BYTES_MAX: usize = 4 << 20;
/// What a text takes besides its own bytes, about.
const TEXT_OVERHEAD_BYTES: usize = 64;

/// What comes next in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// An element begins: [`Reader::tag`].
    Start,
    /// The innermost element that is open ends.
    End,
    /// A piece of the text of an element: [`Reader::say_into`]. A text may come in many.
    Text,
    /// The document is over.
    Over,
}

/// What the next bytes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    /// Content, or what stands around the root.
    Content,
    /// A CDATA section.
    CData,
    /// An element whose tag was its end as well.
    Empty,
}

/// The names of the elements that are open, one after another.
#[derive(Debug, Default)]
struct Open {
    names: String,
    begins: Vec<usize>,
}

impl Open {
    fn depth(&self) -> usize {
        self.begins.len()
    }

    fn push(&mut self, name: &str) {
        self.begins.push(self.names.len());
        self.names.push_str(name);
    }

    /// The innermost.
    fn last(&self) -> Option<&str> {
        self.names.get(*self.begins.last()?..)
    }

    fn pop(&mut self) {
        if let Some(begin) = self.begins.pop() {
            self.names.truncate(begin);
        }
    }
}

/// Reads a document.
pub struct Reader<R: Read> {
    input: Input<R>,
    budget: Budget,
    scopes: Scopes,
    open: Open,
    inside: Inside,
    tag: Tag,
    text: String,
    /// How much is kept of the unit that is being read, in bytes.
    kept: usize,
    is_begun: bool,
    has_root: bool,
    has_doctype: bool,
}

impl<R: Read> Reader<R> {
    /// Reads from a source until a deadline; `known` are the namespaces that are told apart.
    pub fn new(source: R, known: &'static [&'static str], deadline: Instant) -> Reader<R> {
        Reader {
            input: Input::new(source),
            budget: Budget::until(deadline),
            scopes: Scopes::new(known),
            open: Open::default(),
            inside: Inside::Content,
            tag: Tag::default(),
            text: String::new(),
            kept: 0,
            is_begun: false,
            has_root: false,
            has_doctype: false,
        }
    }

    /// The tag of the element that begins.
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// Whether the element that begins has such a name, in a namespace that the document's own elements are in.
    pub fn is(&self, namespace: Namespace, local: &str) -> bool {
        self.tag.namespace() == namespace && self.tag.local() == local
    }

    /// A unit begins: nothing is kept of it yet.
    pub fn begin_unit(&mut self) {
        self.kept = 0;
    }

    /// A text of the unit begins that is kept, with so many bytes already.
    ///
    /// # Errors
    /// [`Code::UnsupportedConstruct`] if that is more than any unit has.
    pub fn begin_text(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.keep(bytes + TEXT_OVERHEAD_BYTES)
    }

    /// Counts so many bytes more that are kept of the unit.
    ///
    /// # Errors
    /// As [`Reader::begin_text`].
    pub fn keep(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.kept += bytes;
        if self.kept > UNIT_BYTES_MAX { Err(self.refuses(Code::UnsupportedConstruct)) } else { Ok(()) }
    }

    /// Adds the piece of text to one that is kept of the unit.
    ///
    /// # Errors
    /// As [`Reader::begin_text`].
    pub fn say_into(&mut self, text: &mut String) -> Result<(), ReadError> {
        self.keep(self.text.len())?;
        text.push_str(&self.text);
        Ok(())
    }

    /// A refusal where the last token stands.
    pub fn refuses(&self, code: Code) -> ReadError {
        self.input.marked().refuses(code).into()
    }

    /// Reads on to the next token.
    ///
    /// # Errors
    /// [`Code::Malformed`], [`Code::EncodingInvalid`], [`Code::ParseTimeout`]; [`Code::UnsupportedConstruct`] for more
    /// attributes or namespaces than any document has, and longer tags; the source's.
    pub fn next(&mut self) -> Result<Token, ReadError> {
        loop {
            self.budget.step(0).map_err(|offence| self.refuses(offence.code))?;
            if let Some(token) = self.step()? {
                return Ok(token);
            }
        }
    }

    /// Passes over everything up to the end of the element that has just begun.
    ///
    /// # Errors
    /// As [`Reader::next`].
    pub fn skip(&mut self) -> Result<(), ReadError> {
        let mut open = 1;
        while open > 0 {
            match self.next()? {
                Token::Start => open += 1,
                Token::End => open -= 1,
                Token::Text => {}
                Token::Over => return Ok(()),
            }
        }
        Ok(())
    }

    /// The next token; `None`: it was nothing that anybody wants to know.
    fn step(&mut self) -> Result<Option<Token>, ReadError> {
        match self.inside {
            Inside::CData => return self.read_cdata().map(Some),
            Inside::Empty => {
                self.inside = Inside::Content;
                return Ok(Some(self.close()));
            }
            Inside::Content => {}
        }
        self.input.mark();
        let first = self.byte(0)?;
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let is_inside = self.open.depth() > 0;
        match (first, is_inside) {
            (Some(b'<'), _) => match self.byte(1)? {
                Some(b'/') => self.read_end_tag().map(Some),
                Some(b'!') => self.read_declaration(),
                Some(b'?') => self.read_instruction(is_first),
                _ => self.read_tag().map(Some),
            },
            (Some(b'&'), true) => self.read_reference().map(Some),
            (Some(_), true) => self.read_text().map(Some),
            (Some(_), false) => self.read_space(),
            (None, false) if self.has_root => Ok(Some(Token::Over)),
            (None, _) => Err(self.refuses(Code::Malformed)),
        }
    }

    /// A byte behind what has been read; `None`: the document ends before it.
    fn byte(&mut self, at: usize) -> Result<Option<u8>, ReadError> {
        loop {
            let byte = self.input.window().as_bytes().get(at).copied();
            if byte.is_some() || !self.input.more()? {
                return Ok(byte);
            }
        }
    }

    /// Whether what follows begins with that.
    fn begins_with(&mut self, beginning: &str) -> Result<bool, ReadError> {
        while self.input.window().len() < beginning.len() && self.input.more()? {}
        Ok(self.input.window().starts_with(beginning))
    }

    /// Where the token that begins here ends, as it is looked for in what there is of it.
    fn end_of_token(&mut self, find: fn(&str) -> Option<usize>) -> Result<usize, ReadError> {
        loop {
            let window = self.input.window();
            let found = find(window);
            if found.unwrap_or(window.len()) > TOKEN_BYTES_MAX {
                return Err(self.refuses(Code::UnsupportedConstruct));
            }
            match found {
                Some(end) => return Ok(end),
                None if self.input.more()? => {}
                None => return Err(self.refuses(Code::Malformed)),
            }
        }
    }

    fn read_tag(&mut self) -> Result<Token, ReadError> {
        let depth = self.open.depth();
        if self.has_root && depth == 0 || depth >= DEPTH_MAX {
            return Err(self.refuses(Code::Malformed));
        }
        let end = self.end_of_token(tag_end)?;
        let written = self.input.window().get(1..end).unwrap_or_default();
        let (written, inside) = match written.strip_suffix('/') {
            Some(written) => (written, Inside::Empty),
            None => (written, Inside::Content),
        };
        self.tag.read(written, depth + 1, &mut self.scopes).map_err(|fault| {
            let (code, at) = match fault {
                TagFault::Malformed(at) => (Code::Malformed, at),
                TagFault::TooMany(at) => (Code::UnsupportedConstruct, at),
            };
            self.input.place(1 + at).refuses(code)
        })?;
        self.open.push(self.tag.name());
        self.inside = inside;
        self.has_root = true;
        self.input.consume(end + 1);
        Ok(Token::Start)
    }

    fn read_end_tag(&mut self) -> Result<Token, ReadError> {
        let end = self.end_of_token(end_tag_end)?;
        let written = self.input.window().get(2..end).unwrap_or_default();
        if self.open.last() != Some(written.trim_end_matches([' ', '\t', '\n', '\r'])) {
            return Err(self.refuses(Code::Malformed));
        }
        self.input.consume(end + 1);
        Ok(self.close())
    }

    fn close(&mut self) -> Token {
        self.open.pop();
        self.scopes.leave(self.open.depth());
        Token::End
    }

    fn read_reference(&mut self) -> Result<Token, ReadError> {
        let end = self.end_of_token(reference_end)?;
        let window = self.input.window();
        let name = window.get(1..end).filter(|_| window.as_bytes().get(end) == Some(&b';'));
        let character = name.and_then(referred).ok_or_else(|| self.refuses(Code::Malformed))?;
        self.text.clear();
        self.text.push(character);
        self.input.consume(end + 1);
        Ok(Token::Text)
    }

    /// White space around the root.
    fn read_space(&mut self) -> Result<Option<Token>, ReadError> {
        let window = self.input.window();
        let end = memchr(b'<', window.as_bytes()).unwrap_or(window.len());
        match window.bytes().take(end).position(|byte| !is_space(byte)) {
            Some(at) => Err(self.input.place(at).refuses(Code::Malformed).into()),
            None => {
                self.input.consume(end);
                Ok(None)
            }
        }
    }

    fn read_text(&mut self) -> Result<Token, ReadError> {
        loop {
            let window = self.input.window();
            let end = match memchr2(b'<', b'&', window.as_bytes()) {
                Some(end) => end,
                None => window.len() - undecided(window),
            };
            if end > 0 {
                return self.say(end, true);
            }
            if !self.input.more()? {
                return self.say(self.input.window().len(), true);
            }
        }
    }

    fn read_cdata(&mut self) -> Result<Token, ReadError> {
        loop {
            let window = self.input.window();
            if let Some(end) = window.find("]]>") {
                self.inside = Inside::Content;
                let said = self.say(end, false)?;
                self.input.consume(3);
                return Ok(said);
            }
            let end = window.len() - undecided(window);
            if end > 0 {
                return self.say(end, false);
            }
            if !self.input.more()? {
                return Err(self.refuses(Code::Malformed));
            }
        }
    }

    /// Reads so many bytes as text, or as a CDATA section: its characters are XML's, its line ends become LF (2.11), and
    /// `]]>` stands in no text (2.4).
    fn say(&mut self, bytes: usize, is_text: bool) -> Result<Token, ReadError> {
        let written = self.input.window().get(..bytes).unwrap_or_default();
        self.text.clear();
        // U+FFFE and U+FFFF begin with 0xEF.
        let is_odd = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\t') || matches!(byte, b']' | 0xEF);
        if !written.bytes().fold(false, |found, byte| found | is_odd(byte)) {
            self.text.push_str(written);
        } else {
            let wrong = written.find(|character| !is_character(character));
            let ends = written.find("]]>").filter(|_| is_text);
            if let Some(at) = wrong.into_iter().chain(ends).min() {
                return Err(self.input.place(at).refuses(Code::Malformed).into());
            }
            let mut lines = written.split('\r');
            self.text.push_str(lines.next().unwrap_or_default());
            for line in lines {
                self.text.push('\n');
                self.text.push_str(line.strip_prefix('\n').unwrap_or(line));
            }
        }
        self.input.consume(bytes);
        Ok(Token::Text)
    }

    /// What begins with an exclamation mark.
    fn read_declaration(&mut self) -> Result<Option<Token>, ReadError> {
        if self.begins_with("<!--")? {
            return self.read_comment();
        }
        if self.open.depth() > 0 && self.begins_with(CDATA)? {
            self.input.consume(CDATA.len());
            self.inside = Inside::CData;
            return Ok(None);
        }
        if self.has_root || self.has_doctype || !self.begins_with(DOCTYPE)? {
            return Err(self.refuses(Code::Malformed));
        }
        let end = self.end_of_token(doctype_end)?;
        let written = self.input.window().get(DOCTYPE.len()..end).unwrap_or_default();
        if !written.starts_with([' ', '\t', '\n', '\r']) || written.bytes().all(is_space) {
            return Err(self.refuses(Code::Malformed));
        }
        self.has_doctype = true;
        self.pass(end)?;
        self.input.consume(1);
        Ok(None)
    }

    /// Passes a comment, in which no two hyphens stand side by side (2.5).
    fn read_comment(&mut self) -> Result<Option<Token>, ReadError> {
        self.input.consume(4);
        loop {
            let window = self.input.window();
            if let Some(end) = window.find("--") {
                self.pass(end)?;
                if self.byte(2)? != Some(b'>') {
                    return Err(self.refuses(Code::Malformed));
                }
                self.input.consume(3);
                return Ok(None);
            }
            let passed = window.len() - usize::from(window.ends_with('-'));
            self.pass(passed)?;
            if !self.input.more()? {
                return Err(self.refuses(Code::Malformed));
            }
        }
    }

    /// Passes so many bytes that nobody wants to know; they must be XML's characters all the same.
    fn pass(&mut self, bytes: usize) -> Result<(), ReadError> {
        let written = self.input.window().get(..bytes).unwrap_or_default();
        if let Some(at) = written.find(|character| !is_character(character)) {
            return Err(self.input.place(at).refuses(Code::Malformed).into());
        }
        self.input.consume(bytes);
        Ok(())
    }

    /// Passes a processing instruction, or the document's own declaration, which says how it is coded.
    fn read_instruction(&mut self, is_first: bool) -> Result<Option<Token>, ReadError> {
        let end = self.end_of_token(instruction_end)?;
        let written = self.input.window().get(2..end).unwrap_or_default();
        let target = written.split([' ', '\t', '\n', '\r']).next().unwrap_or_default();
        let fault = match target {
            "xml" if !is_first => Some(Code::Malformed),
            "xml" => match declared_encoding(written) {
                Some(encoding) if is_coding(encoding, self.input.coding()) => None,
                Some(_) => Some(Code::EncodingInvalid),
                None => Some(Code::Malformed),
            },
            _ if is_target(target) => None,
            _ => Some(Code::Malformed),
        };
        if let Some(code) = fault {
            return Err(self.refuses(code));
        }
        self.pass(end)?;
        self.input.consume(2);
        Ok(None)
    }
}

/// What a CDATA section begins with.
const CDATA: &str = "<![CDATA[";

/// Whether a processing instruction may be for that: `xml` is no name for one.
fn is_target(target: &str) -> bool {
    is_name(target) && !target.contains(':') && !target.eq_ignore_ascii_case("xml")
}

/// What an XML declaration says of the encoding, empty if nothing; `None`: it is no declaration (2.8).
fn declared_encoding(written: &str) -> Option<&str> {
    let mut parts = written.strip_prefix("xml")?;
    let mut found = "";
    for (place, name) in ["version", "encoding", "standalone"].into_iter().enumerate() {
        let spaced = parts.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(rest) = spaced.strip_prefix(name).filter(|_| spaced.len() < parts.len()) else {
            if place == 0 {
                return None;
            }
            continue;
        };
        let rest = rest.trim_start_matches([' ', '\t', '\r', '\n']).strip_prefix('=')?;
        let rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, rest) = rest.get(1..)?.split_once(quote)?;
        let is_right = match name {
            "version" => value
                .strip_prefix("1.")
                .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|digit| digit.is_ascii_digit())),
            "encoding" => value.starts_with(|first: char| first.is_ascii_alphabetic()),
            _ => matches!(value, "yes" | "no"),
        };
        if !is_right {
            return None;
        }
        if name == "encoding" {
            found = value;
        }
        parts = rest;
    }
    parts.bytes().all(is_space).then_some(found)
}

/// Whether an encoding that was declared is the one that was found.
fn is_coding(declared: &str, coding: Coding) -> bool {
    let declared = declared.to_ascii_lowercase();
    match coding {
        _ if declared.is_empty() => true,
        Coding::Utf8 => matches!(declared.as_str(), "utf-8" | "utf8" | "us-ascii" | "ascii"),
        Coding::Utf16 { is_big_endian: true } => matches!(declared.as_str(), "utf-16" | "utf-16be"),
        Coding::Utf16 { is_big_endian: false } => matches!(declared.as_str(), "utf-16" | "utf-16le"),
    }
}
