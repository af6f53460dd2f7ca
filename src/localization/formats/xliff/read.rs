//! Reads a document, unit by unit.

use std::io::Read;
use std::time::Instant;

use super::content::{Allowance, CodeTexts, read_content};
use super::model::{Languages, Said, Unit, Version};
use crate::formats::limits::UNITS_MAX;
use crate::formats::refusal::Code;
use crate::formats::xml::{Namespace, ReadError, Reader, Token};

/// The namespaces of XLIFF's versions; 2.1 has that of 2.0.
const NAMESPACES: &[&str] = &[
    "urn:oasis:names:tc:xliff:document:1.1",
    "urn:oasis:names:tc:xliff:document:1.2",
    "urn:oasis:names:tc:xliff:document:2.0",
];

/// Reads a document.
pub struct UnitReader<R: Read> {
    xml: Reader<R>,
    version: Version,
    /// In which the document's elements are.
    namespace: Namespace,
    languages: Languages,
    units: usize,
    codes: CodeTexts,
    allowance: Allowance,
    /// Whether the document has come to its end.
    is_over: bool,
}

/// A part of a unit of XLIFF 2: a segment, or what stands between two.
#[derive(Default)]
struct Segment {
    source: Said,
    target: Option<Said>,
    /// Where its target stands among the others.
    order: Option<usize>,
    is_ignorable: bool,
}

impl<R: Read> UnitReader<R> {
    /// Reads a document's beginning, up to where its languages are known.
    ///
    /// # Errors
    /// [`Code::Malformed`] if it is not well-formed or no XLIFF; [`Code::UnsupportedConstruct`] if it is of another
    /// version; and as the reader's.
    pub fn begin(source: R, deadline: Instant) -> Result<UnitReader<R>, ReadError> {
        let mut xml = Reader::new(source, NAMESPACES, deadline);
        xml.next()?;
        let tag = xml.tag();
        if tag.local() != "xliff" || tag.namespace() == Namespace::Other {
            return Err(xml.refuses(Code::Malformed));
        }
        let (namespace, is_second) = (tag.namespace(), tag.namespace() == Namespace::Known(2));
        let version = match tag.attribute("version") {
            Some("1.1" | "1.2") if !is_second => Version::V1,
            Some("2.0" | "2.1") if is_second => Version::V2,
            _ => return Err(xml.refuses(Code::UnsupportedConstruct)),
        };
        let own = |name: &str| tag.attribute(name).map(str::to_owned);
        let languages = match version {
            Version::V1 => Languages::default(),
            Version::V2 => Languages { source: own("srcLang"), target: own("trgLang") },
        };
        let (codes, allowance) = (CodeTexts::default(), Allowance::default());
        let mut reader = UnitReader { xml, version, namespace, languages, units: 0, codes, allowance, is_over: false };
        if version == Version::V1 {
            reader.find_file()?;
        }
        Ok(reader)
    }

    /// Its grammar.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its languages.
    #[must_use]
    pub fn languages(&self) -> &Languages {
        &self.languages
    }

    /// The next unit.
    ///
    /// # Errors
    /// [`Code::UnsupportedConstruct`] if a later file of the document has other languages; [`Code::TooManyUnits`]; and
    /// as the reader's.
    pub fn next_unit(&mut self) -> Result<Option<Unit>, ReadError> {
        while !self.is_over {
            match self.xml.next()? {
                Token::Over => self.is_over = true,
                Token::End | Token::Text => {}
                Token::Start if self.xml.tag().namespace() != self.namespace => self.xml.skip()?,
                Token::Start => match (self.version, self.xml.tag().local()) {
                    (Version::V1, "file") => self.enter_file(false)?,
                    (_, "group") | (Version::V1, "body") | (Version::V2, "file") => {}
                    (Version::V1, "trans-unit") => return self.unit(Self::unit_of_1).map(Some),
                    (Version::V2, "unit") => return self.unit(Self::unit_of_2).map(Some),
                    _ => self.xml.skip()?,
                },
            }
        }
        Ok(None)
    }

    /// Reads on to the first `file`, which has the languages.
    fn find_file(&mut self) -> Result<(), ReadError> {
        loop {
            match self.xml.next()? {
                Token::Start if self.xml.is(self.namespace, "file") => return self.enter_file(true),
                Token::Start => self.xml.skip()?,
                Token::End | Token::Text => {}
                Token::Over => {
                    self.is_over = true;
                    return Ok(());
                }
            }
        }
    }

    fn enter_file(&mut self, is_first: bool) -> Result<(), ReadError> {
        let own = |name: &str| self.xml.tag().attribute(name).map(str::to_owned);
        let languages = Languages { source: own("source-language"), target: own("target-language") };
        if is_first {
            self.languages = languages;
        } else if languages != self.languages {
            return Err(self.xml.refuses(Code::UnsupportedConstruct));
        }
        Ok(())
    }

    /// A unit that has just begun.
    fn unit(&mut self, read: fn(&mut Self, Unit) -> Result<Unit, ReadError>) -> Result<Unit, ReadError> {
        self.units += 1;
        if self.units > UNITS_MAX {
            return Err(self.xml.refuses(Code::TooManyUnits));
        }
        self.xml.begin_unit();
        let id = self.xml.tag().attribute("id").unwrap_or_default().to_owned();
        read(self, Unit { id, ..Unit::default() })
    }

    /// Allows the document's targets to name texts of codes of so many bytes together, instead of as many as the largest
    /// document has.
    pub fn limit_codes(&mut self, bytes: usize) {
        self.allowance = Allowance::of(bytes);
    }

    /// That there is more in the document, up to where it has been read, than anybody takes.
    #[must_use]
    pub fn refuses_too_many(&self) -> ReadError {
        self.xml.refuses(Code::TooManyUnits)
    }

    fn content(&mut self) -> Result<Said, ReadError> {
        read_content(&mut self.xml, self.version, self.namespace, &self.codes, &mut self.allowance)
    }

    /// The content of a source, which is compared and then gone: it may name texts of codes as often as goes into a unit.
    fn source(&mut self) -> Result<Said, ReadError> {
        let mut any = Allowance::default();
        read_content(&mut self.xml, self.version, self.namespace, &self.codes, &mut any)
    }

    /// Where the next element inside another begins, in the document's namespace; `None` at its end.
    fn next_child(&mut self) -> Result<Option<Child>, ReadError> {
        loop {
            match self.xml.next()? {
                Token::Start if self.xml.tag().namespace() != self.namespace => self.xml.skip()?,
                Token::Start => {
                    return Ok(Some(match self.xml.tag().local() {
                        "source" => Child::Source,
                        "target" => Child::Target,
                        "segment" => Child::Segment,
                        "ignorable" => Child::Ignorable,
                        "originalData" => Child::OriginalData,
                        "data" => Child::Data,
                        _ => Child::Other,
                    }));
                }
                Token::End | Token::Over => return Ok(None),
                Token::Text => {}
            }
        }
    }

    fn unit_of_1(&mut self, mut unit: Unit) -> Result<Unit, ReadError> {
        while let Some(child) = self.next_child()? {
            match child {
                Child::Source => unit.source = self.source()?,
                Child::Target => unit.target = Some(self.content()?),
                _ => self.xml.skip()?,
            }
        }
        Ok(unit)
    }

    /// Segments and what stands between them are one text.
    fn unit_of_2(&mut self, mut unit: Unit) -> Result<Unit, ReadError> {
        self.codes.clear();
        let mut segments = Vec::new();
        while let Some(child) = self.next_child()? {
            match child {
                Child::OriginalData => self.read_codes()?,
                Child::Segment => segments.push(self.segment(false)?),
                Child::Ignorable => segments.push(self.segment(true)?),
                _ => self.xml.skip()?,
            }
        }
        for segment in &segments {
            join(&mut unit.source, &segment.source);
        }
        unit.target = joined_target(segments);
        Ok(unit)
    }

    fn segment(&mut self, is_ignorable: bool) -> Result<Segment, ReadError> {
        let mut segment = Segment { is_ignorable, ..Segment::default() };
        self.xml.begin_text(0)?;
        while let Some(child) = self.next_child()? {
            match child {
                // What stands between two segments may become a part of the target.
                Child::Source if is_ignorable => segment.source = self.content()?,
                Child::Source => segment.source = self.source()?,
                Child::Target => {
                    segment.order = self.xml.tag().attribute("order").and_then(|order| order.parse().ok());
                    segment.target = Some(self.content()?);
                }
                _ => self.xml.skip()?,
            }
        }
        Ok(segment)
    }

    /// What the codes of a unit stand for.
    fn read_codes(&mut self) -> Result<(), ReadError> {
        while let Some(child) = self.next_child()? {
            if child != Child::Data {
                self.xml.skip()?;
                continue;
            }
            let id = self.xml.tag().attribute("id").unwrap_or_default().to_owned();
            self.xml.keep(id.len())?;
            let said = self.content()?;
            if !said.has_bare_code {
                self.codes.put(id, said.text);
            }
        }
        Ok(())
    }
}

/// An element inside a unit or a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Child {
    Source,
    Target,
    Segment,
    Ignorable,
    OriginalData,
    Data,
    Other,
}

fn join(whole: &mut Said, part: &Said) {
    whole.text.push_str(&part.text);
    whole.has_bare_code |= part.has_bare_code;
}

/// The targets of all segments, each where its `order` says, else where it stands; what stands between two has its source's
/// text if it has no other. None if a segment has no target.
fn joined_target(segments: Vec<Segment>) -> Option<Said> {
    let mut parts = Vec::with_capacity(segments.len());
    let mut has_target = false;
    for (place, segment) in segments.into_iter().enumerate() {
        has_target |= segment.target.is_some() && !segment.is_ignorable;
        let target = segment.target.or_else(|| segment.is_ignorable.then_some(segment.source))?;
        parts.push((segment.order.unwrap_or(place + 1), target));
    }
    parts.sort_by_key(|(order, _)| *order);
    let mut whole = Said::default();
    for (_, part) in &parts {
        join(&mut whole, part);
    }
    has_target.then_some(whole)
}
