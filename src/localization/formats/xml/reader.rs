//! Reads a document, token by token.

use std::io::{self, Read};
use std::time::Instant;

use quick_xml::errors::Error;
use quick_xml::events::Event;

use super::characters::{is_character, is_name, is_space, referred};
use super::input::{Coding, Input};
use super::tag::{Namespace, Scopes, Tag, TagFault};
use crate::formats::budget::Budget;
use crate::formats::limits::DEPTH_MAX;
use crate::formats::refusal::{Code, ReaderRefusal};

/// Why a document is not read on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is refused.
    #[error(transparent)]
    Refused(#[from] ReaderRefusal),
    /// Its bytes could not be had.
    #[error("the document could not be read: {0}")]
    Failed(io::Error),
}

/// What comes next in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// An element begins: [`Reader::tag`].
    Start,
    /// The innermost element that is open ends.
    End,
    /// A piece of the text of an element: [`Reader::text`]. A text may come in many.
    Text,
    /// The document is over.
    Over,
}

/// A token before it is known whether it may stand there.
enum Step {
    Token(Token),
    /// Nothing that anybody wants to know.
    Passed,
    /// Wrong behind so much of it.
    Wrong(Code, String),
}

/// Reads a document.
pub struct Reader<R: Read> {
    xml: quick_xml::Reader<Input<R>>,
    buffer: Vec<u8>,
    budget: Budget,
    scopes: Scopes,
    tag: Tag,
    text: String,
    depth: usize,
    is_begun: bool,
    has_root: bool,
    has_doctype: bool,
}

impl<R: Read> Reader<R> {
    /// Reads from a source until a deadline; `known` are the namespaces that are told apart.
    pub fn new(source: R, known: &'static [&'static str], deadline: Instant) -> Reader<R> {
        let mut xml = quick_xml::Reader::from_reader(Input::new(source));
        let config = xml.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        Reader {
            xml,
            buffer: Vec::new(),
            budget: Budget::until(deadline),
            scopes: Scopes::new(known),
            tag: Tag::default(),
            text: String::new(),
            depth: 0,
            is_begun: false,
            has_root: false,
            has_doctype: false,
        }
    }

    /// The tag of the element that begins.
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// The piece of text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A refusal where the last token stands.
    pub fn refuses(&self, code: Code) -> ReadError {
        self.xml.get_ref().marked().refuses(code).into()
    }

    /// Reads on to the next token.
    ///
    /// # Errors
    /// [`Code::Malformed`], [`Code::EncodingInvalid`], [`Code::ParseTimeout`]; [`Code::UnsupportedConstruct`] for more
    /// attributes or namespaces than any document has; the source's.
    pub fn next(&mut self) -> Result<Token, ReadError> {
        loop {
            self.budget.step(0).map_err(|offence| self.refuses(offence.code))?;
            match self.step()? {
                Step::Token(token) => return Ok(token),
                Step::Passed => {}
                Step::Wrong(code, behind) => {
                    return Err(self.xml.get_ref().marked().behind(&behind).refuses(code).into());
                }
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

    fn step(&mut self) -> Result<Step, ReadError> {
        self.xml.get_mut().mark();
        self.buffer.clear();
        let event = match self.xml.read_event_into(&mut self.buffer) {
            Ok(event) => event,
            Err(error) => return Err(self.error(error)),
        };
        let coding = self.xml.get_ref().coding();
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let is_inside = self.depth > 0;
        let wrong = Step::Wrong(Code::Malformed, String::new());
        Ok(match event {
            Event::Start(_) if self.has_root && !is_inside => wrong,
            Event::Start(_) if self.depth >= DEPTH_MAX => wrong,
            // They come as a beginning and an end.
            Event::Empty(_) => wrong,
            Event::Start(start) => {
                self.has_root = true;
                self.depth += 1;
                started(&mut self.tag, &start, self.depth, &mut self.scopes)
            }
            Event::End(_) => {
                self.depth -= 1;
                self.scopes.leave(self.depth);
                Step::Token(Token::End)
            }
            Event::Text(text) if is_inside => said(&mut self.text, &text, ""),
            Event::Text(text) => match text.bytes().position(|byte| !is_space(byte)) {
                None => Step::Passed,
                Some(at) => behind("", &text, at),
            },
            Event::GeneralRef(name) => match referred(&name).filter(|_| is_inside) {
                Some(character) => {
                    self.text.clear();
                    self.text.push(character);
                    Step::Token(Token::Text)
                }
                None => wrong,
            },
            Event::CData(text) if is_inside => said(&mut self.text, &text, CDATA),
            Event::CData(_) => wrong,
            Event::Comment(text) => passed("<!--", &text),
            Event::PI(instruction) => match is_target(instruction.target()) {
                true => passed("<?", &instruction),
                false => wrong,
            },
            Event::Decl(_) if !is_first => wrong,
            Event::Decl(declaration) => match declared_encoding(&declaration) {
                Some(encoding) if is_coding(encoding, coding) => Step::Passed,
                Some(_) => Step::Wrong(Code::EncodingInvalid, String::new()),
                None => wrong,
            },
            Event::DocType(_) if self.has_root || self.has_doctype => wrong,
            Event::DocType(text) => {
                self.has_doctype = true;
                passed("<!DOCTYPE ", &text)
            }
            Event::Eof if self.has_root && !is_inside => Step::Token(Token::Over),
            Event::Eof => wrong,
        })
    }

    /// What the tokenizer refuses.
    fn error(&self, error: Error) -> ReadError {
        let input = self.xml.get_ref();
        match error {
            Error::Io(_) if input.is_ill_coded() => input.place().refuses(Code::EncodingInvalid).into(),
            Error::Io(error) => ReadError::Failed(io::Error::new(error.kind(), error)),
            Error::Encoding(_) => {
                // What was read of the token lies in the buffer, as it came.
                let valid = match std::str::from_utf8(&self.buffer) {
                    Ok(text) => text.len(),
                    Err(error) => error.valid_up_to(),
                };
                let mut place = input.marked();
                place.pass(self.buffer.get(..valid).unwrap_or_default());
                place.refuses(Code::EncodingInvalid).into()
            }
            _ => self.refuses(Code::Malformed),
        }
    }
}

/// What stands before the text of a CDATA section.
const CDATA: &str = "<![CDATA[";

/// Malformed at a byte of what stands behind the beginning of a token.
fn behind(beginning: &str, written: &str, at: usize) -> Step {
    Step::Wrong(Code::Malformed, [beginning, written.get(..at).unwrap_or_default()].concat())
}

/// An element begins; it is read by itself once more, for its tag is let pass as it is.
fn started(tag: &mut Tag, written: &str, depth: usize, scopes: &mut Scopes) -> Step {
    match tag.read(written, depth, scopes) {
        Ok(()) => Step::Token(Token::Start),
        Err(TagFault::Malformed(at)) => behind("<", written, at),
        Err(TagFault::TooMany(at)) => {
            Step::Wrong(Code::UnsupportedConstruct, ["<", written.get(..at).unwrap_or_default()].concat())
        }
    }
}

/// A piece of text, or of a CDATA section: its characters are XML's, its line ends become LF (2.11), and `]]>` stands in no
/// text (2.4).
fn said(text: &mut String, written: &str, beginning: &str) -> Step {
    text.clear();
    let is_plain = !written.bytes().any(|byte| byte < b' ' || byte == b']' || byte == 0xEF);
    if is_plain || written.bytes().all(|byte| matches!(byte, b' ' | b'\n' | b'\t')) {
        text.push_str(written);
        return Step::Token(Token::Text);
    }
    if let Some(at) = written.find(|character| !is_character(character)) {
        return behind(beginning, written, at);
    }
    if let Some(at) = written.find("]]>").filter(|_| beginning.is_empty()) {
        return behind(beginning, written, at);
    }
    let mut lines = written.split('\r');
    text.push_str(lines.next().unwrap_or_default());
    for line in lines {
        text.push('\n');
        text.push_str(line.strip_prefix('\n').unwrap_or(line));
    }
    Step::Token(Token::Text)
}

/// What nobody wants to know must have XML's characters all the same.
fn passed(beginning: &str, written: &str) -> Step {
    match written.find(|character| !is_character(character)) {
        None => Step::Passed,
        Some(at) => behind(beginning, written, at),
    }
}

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

impl<R: Read> Reader<R> {
    /// Whether the element that begins has such a name, in a namespace that the document's own elements are in.
    pub fn is(&self, namespace: Namespace, local: &str) -> bool {
        self.tag.namespace() == namespace && self.tag.local() == local
    }
}
