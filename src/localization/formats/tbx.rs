//! TBX: glossaries, out in the dialect whose root is `martif`, in also as ISO 30042:2019 has it (localization, X7).
//!
//! A document is read concept by concept and written concept by concept.

use std::io::Read;
use std::time::Instant;

use super::limits::UNITS_MAX;
use super::refusal::Code;
use super::xml::{Namespace, ReadError, Reader, Token, is_writable, push_attribute, push_text};

/// A concept: its terms in several languages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concept {
    /// In the order of the document.
    pub terms: Vec<Term>,
    /// The first note of the concept, else of one of its languages or terms.
    pub note: Option<String>,
    /// The one locale for which a term that must stay as it is does so; none: every locale.
    pub locale: Option<String>,
}

/// A term in a language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// The tag of the language as it is written; empty if there is none.
    pub language: String,
    /// The term.
    pub text: String,
    /// Whether it must not be used.
    pub is_forbidden: bool,
}

/// What marks a term that must not be used.
const FORBIDDEN: &str = "deprecatedTerm-admn-sts";
/// What says for which locale a term without another stays as it is.
const KEPT_IN: &str = "x-kept-in";
/// The namespace of ISO 30042:2019, and those in which its styles have `administrativeStatus` as an element.
const NAMESPACES: &[&str] = &[
    "urn:iso:std:iso:30042:ed-2",
    "http://www.tbxinfo.net/ns/min",
    "http://www.tbxinfo.net/ns/basic",
    "urn:iso:std:iso:30042:ed-1",
];

/// Reads a document.
pub struct TbxReader<R: Read> {
    xml: Reader<R>,
    terms: usize,
    is_over: bool,
}

/// Where in a concept something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Concept,
    Language,
    Term,
}

impl<R: Read> TbxReader<R> {
    /// Reads a document's beginning.
    ///
    /// # Errors
    /// [`Code::Malformed`] if it is not well-formed or no TBX; and as the reader's.
    pub fn begin(source: R, deadline: Instant) -> Result<TbxReader<R>, ReadError> {
        let mut xml = Reader::new(source, NAMESPACES, deadline);
        xml.next()?;
        if !matches!(xml.tag().local(), "martif" | "tbx") || xml.tag().namespace() == Namespace::Other {
            return Err(xml.refuses(Code::Malformed));
        }
        Ok(TbxReader { xml, terms: 0, is_over: false })
    }

    /// The next concept.
    ///
    /// # Errors
    /// [`Code::TooManyUnits`]; and as the reader's.
    pub fn next_concept(&mut self) -> Result<Option<Concept>, ReadError> {
        while !self.is_over {
            match self.xml.next()? {
                Token::Over => self.is_over = true,
                Token::End | Token::Text => {}
                Token::Start => match self.local() {
                    "text" | "body" => {}
                    "termEntry" | "conceptEntry" => {
                        let mut concept = Concept::default();
                        self.xml.begin_unit();
                        self.inside(Level::Concept, "", &mut concept)?;
                        return Ok(Some(concept));
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

    fn local(&self) -> &str {
        if self.xml.tag().namespace() == Namespace::Other { "" } else { self.xml.tag().local() }
    }

    /// What lies in a concept, a language of it, or one of its terms. The levels call one another, so this is three calls
    /// deep at most.
    fn inside(&mut self, level: Level, language: &str, concept: &mut Concept) -> Result<(), ReadError> {
        let first = concept.terms.len();
        let mut is_forbidden = false;
        // Elements that stand around others and say nothing.
        let mut open = 0_usize;
        loop {
            match self.xml.next()? {
                Token::Text => {}
                Token::End if open > 0 => open -= 1,
                Token::End | Token::Over => break,
                Token::Start => match (level, self.local()) {
                    (Level::Concept, "langSet" | "langSec") => {
                        let language = self.xml.tag().attribute("xml:lang").unwrap_or_default().to_owned();
                        self.inside(Level::Language, &language, concept)?;
                    }
                    (Level::Language, "tig" | "ntig" | "termSec") => self.inside(Level::Term, language, concept)?,
                    (Level::Term, "termGrp" | "termNoteGrp") => open += 1,
                    (Level::Term, "term") => {
                        self.terms += 1;
                        if self.terms > UNITS_MAX {
                            return Err(self.xml.refuses(Code::TooManyUnits));
                        }
                        self.xml.keep(language.len())?;
                        let text = self.content()?;
                        concept.terms.push(Term { language: language.to_owned(), text, is_forbidden: false });
                    }
                    (_, local) => match Told::of(local, self.xml.tag().attribute("type")) {
                        Some(told) => {
                            let text = self.content()?;
                            is_forbidden |= told == Told::Status && is_status_forbidden(&text);
                            told.note(level, text, concept);
                        }
                        None => self.xml.skip()?,
                    },
                },
            }
        }
        if level == Level::Term {
            concept.terms.iter_mut().skip(first).for_each(|term| term.is_forbidden = is_forbidden);
        }
        Ok(())
    }

    /// The text of an element with everything in it.
    fn content(&mut self) -> Result<String, ReadError> {
        let mut text = String::new();
        self.xml.begin_text(0)?;
        let mut open = 0_usize;
        loop {
            match self.xml.next()? {
                Token::Text => self.xml.say_into(&mut text)?,
                Token::Start => open += 1,
                Token::End if open > 0 => open -= 1,
                Token::End | Token::Over => return Ok(text),
            }
        }
    }
}

/// What is told of a concept or a term, besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Note,
    Status,
    KeptIn,
}

impl Told {
    fn of(local: &str, kind: Option<&str>) -> Option<Told> {
        match (local, kind) {
            ("note", _) => Some(Told::Note),
            ("termNote", Some("administrativeStatus")) | ("administrativeStatus", _) => Some(Told::Status),
            ("descrip", Some(KEPT_IN)) => Some(Told::KeptIn),
            _ => None,
        }
    }

    /// Of notes the concept's own counts most, then the first.
    fn note(self, level: Level, text: String, concept: &mut Concept) {
        match self {
            Told::Note if concept.note.is_none() || level == Level::Concept => concept.note = Some(text),
            Told::Note | Told::Status => {}
            Told::KeptIn => concept.locale = Some(text.trim().to_owned()),
        }
    }
}

fn is_status_forbidden(status: &str) -> bool {
    matches!(status.trim(), FORBIDDEN | "deprecatedTerm" | "deprecated")
}

/// Writes the beginning of a document.
pub fn begin_tbx(document: &mut String, source_language: &str) {
    document.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<martif type=\"TBX\"");
    push_attribute(document, "xml:lang", source_language);
    document.push_str(
        ">\n<martifHeader>\n<fileDesc>\n<sourceDesc><p>quintet</p></sourceDesc>\n</fileDesc>\n</martifHeader>\n\
         <text>\n<body>\n",
    );
}

/// Writes a concept.
pub fn push_concept(document: &mut String, id: &str, concept: &Concept) {
    document.push_str("<termEntry");
    // An id of XML is a name, which begins with no digit.
    push_attribute(document, "id", &format!("t-{id}"));
    document.push_str(">\n");
    if let Some(locale) = &concept.locale {
        document.push_str("<descrip");
        push_attribute(document, "type", KEPT_IN);
        document.push('>');
        push_text(document, locale);
        document.push_str("</descrip>\n");
    }
    if let Some(note) = concept.note.as_deref().filter(|note| is_writable(note)) {
        document.push_str("<note>");
        push_text(document, note);
        document.push_str("</note>\n");
    }
    for term in &concept.terms {
        document.push_str("<langSet");
        push_attribute(document, "xml:lang", &term.language);
        document.push_str("><tig><term>");
        push_text(document, &term.text);
        document.push_str("</term>");
        if term.is_forbidden {
            document.push_str("<termNote");
            push_attribute(document, "type", "administrativeStatus");
            document.push('>');
            document.push_str(FORBIDDEN);
            document.push_str("</termNote>");
        }
        document.push_str("</tig></langSet>\n");
    }
    document.push_str("</termEntry>\n");
}

/// Writes the end.
pub fn end_tbx(document: &mut String) {
    document.push_str("</body>\n</text>\n</martif>\n");
}
