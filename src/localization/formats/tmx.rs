//! TMX 1.4b: translation memories, out and in (localization, X6).
//!
//! A document is read unit by unit and written unit by unit.

use std::io::Read;
use std::time::Instant;

use super::limits::UNITS_MAX;
use super::refusal::Code;
use super::xml::{Namespace, ReadError, Reader, Token, is_writable, push_attribute, push_comment, push_text};

/// A unit: one text in several languages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TmxUnit {
    /// In the order of the document.
    pub variants: Vec<TmxVariant>,
}

/// A text in a language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TmxVariant {
    /// The tag of the language as it is written; empty if there is none.
    pub language: String,
    /// The text; none if it has an inline code whose text is not known.
    pub text: Option<String>,
}

/// Reads a document.
pub struct TmxReader<R: Read> {
    xml: Reader<R>,
    units: usize,
    is_over: bool,
}

impl<R: Read> TmxReader<R> {
    /// Reads a document's beginning. Whatever 1.x it says to be, it is read alike.
    ///
    /// # Errors
    /// [`Code::Malformed`] if it is not well-formed or no TMX; and as the reader's.
    pub fn begin(source: R, deadline: Instant) -> Result<TmxReader<R>, ReadError> {
        let mut xml = Reader::new(source, &["http://www.lisa.org/tmx14"], deadline);
        xml.next()?;
        if xml.tag().local() != "tmx" || xml.tag().namespace() == Namespace::Other {
            return Err(xml.refuses(Code::Malformed));
        }
        Ok(TmxReader { xml, units: 0, is_over: false })
    }

    /// The next unit.
    ///
    /// # Errors
    /// [`Code::TooManyUnits`]; and as the reader's.
    pub fn next_unit(&mut self) -> Result<Option<TmxUnit>, ReadError> {
        while !self.is_over {
            match self.xml.next()? {
                Token::Over => self.is_over = true,
                Token::End | Token::Text => {}
                Token::Start => match self.local() {
                    "body" => {}
                    "tu" => {
                        self.xml.begin_unit();
                        return self.unit().map(Some);
                    }
                    _ => self.xml.skip()?,
                },
            }
        }
        Ok(None)
    }

    /// That there is more in the document, up to where it has been read, than anybody takes.
    #[must_use]
    pub fn refuses_too_many(&self) -> ReadError {
        self.xml.refuses(Code::TooManyUnits)
    }

    /// The name of the element that begins, if it is TMX's.
    fn local(&self) -> &str {
        if self.xml.tag().namespace() == Namespace::Other { "" } else { self.xml.tag().local() }
    }

    fn unit(&mut self) -> Result<TmxUnit, ReadError> {
        let mut unit = TmxUnit::default();
        loop {
            match self.xml.next()? {
                Token::Start if self.local() == "tuv" => {
                    self.units += 1;
                    if self.units > 2 * UNITS_MAX {
                        return Err(self.xml.refuses(Code::TooManyUnits));
                    }
                    let tag = self.xml.tag();
                    let language = tag.attribute("xml:lang").or_else(|| tag.attribute("lang")).unwrap_or_default();
                    let language = language.to_owned();
                    self.xml.begin_text(language.len())?;
                    unit.variants.push(TmxVariant { language, text: self.variant()? });
                }
                Token::Start => self.xml.skip()?,
                Token::Text => {}
                Token::End | Token::Over => return Ok(unit),
            }
        }
    }

    fn variant(&mut self) -> Result<Option<String>, ReadError> {
        let mut text = None;
        loop {
            match self.xml.next()? {
                Token::Start if self.local() == "seg" => text = self.segment()?,
                Token::Start => self.xml.skip()?,
                Token::Text => {}
                Token::End | Token::Over => return Ok(text),
            }
        }
    }

    /// `hi` and `sub` give their content, `bpt`, `ept`, `it`, `ph` and `ut` the code that they hold.
    fn segment(&mut self) -> Result<Option<String>, ReadError> {
        let mut text = String::new();
        let mut has_bare_code = false;
        // Where the text of codes that are open begins.
        let mut open: Vec<Option<usize>> = Vec::new();
        loop {
            match self.xml.next()? {
                Token::Text => self.xml.say_into(&mut text)?,
                Token::Start => match self.local() {
                    "hi" | "sub" => open.push(None),
                    "bpt" | "ept" | "it" | "ph" | "ut" => open.push(Some(text.len())),
                    _ => {
                        has_bare_code = true;
                        open.push(None);
                    }
                },
                Token::End => match open.pop() {
                    Some(begin) => has_bare_code |= begin == Some(text.len()),
                    None => return Ok((!has_bare_code).then_some(text)),
                },
                Token::Over => return Ok(None),
            }
        }
    }
}

/// Writes a document.
#[derive(Debug)]
pub struct TmxWriter {
    left_out: usize,
}

/// A text and its translation.
#[derive(Clone, Copy, Debug)]
pub struct TmxPair<'p> {
    /// The tag of the source's language.
    pub source_language: &'p str,
    /// The source.
    pub source: &'p str,
    /// The tag of the target's language.
    pub target_language: &'p str,
    /// The target.
    pub target: &'p str,
}

impl TmxWriter {
    /// Writes the beginning of a document.
    pub fn begin(document: &mut String, source_language: &str) -> TmxWriter {
        document.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tmx version=\"1.4\">\n<header");
        let fields = [
            ("creationtool", "quintet"),
            ("creationtoolversion", env!("CARGO_PKG_VERSION")),
            ("segtype", "block"),
            ("o-tmf", "quintet"),
            ("adminlang", "en"),
            ("srclang", source_language),
            ("datatype", "plaintext"),
        ];
        for (name, value) in fields {
            push_attribute(document, name, value);
        }
        document.push_str("/>\n<body>\n");
        TmxWriter { left_out: 0 }
    }

    /// Writes a unit. XML cannot hold most control characters: a pair with one of them is left out.
    pub fn unit(&mut self, document: &mut String, pair: &TmxPair<'_>) {
        if !is_writable(pair.source) || !is_writable(pair.target) {
            self.left_out += 1;
            return;
        }
        document.push_str("<tu>\n");
        for (language, text) in [(pair.source_language, pair.source), (pair.target_language, pair.target)] {
            document.push_str("<tuv");
            push_attribute(document, "xml:lang", language);
            document.push_str("><seg>");
            push_text(document, text);
            document.push_str("</seg></tuv>\n");
        }
        document.push_str("</tu>\n");
    }

    /// Writes the end.
    pub fn end(self, document: &mut String) {
        if self.left_out > 0 {
            push_comment(
                document,
                &format!("{} are left out: XML cannot hold their control characters", self.left_out),
            );
        }
        document.push_str("</body>\n</tmx>\n");
    }
}
