//! A start tag: its name, the namespaces that names are in, and its attributes.

use std::collections::HashSet;
use std::ops::Range;

use super::characters::{is_character, is_space, referred, split_name};

/// The most attributes of one element.
const ATTRIBUTES_MAX: usize = 1_000;
/// The most namespaces that may be declared around one element: each prefix is looked for among them.
const DECLARED_MAX: usize = 100;
/// Up to so many attributes each is compared with each.
const COMPARED_MAX: usize = 8;

/// The namespace of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// None.
    None,
    /// One of those that the reader was told, by its place among them.
    Known(usize),
    /// Another.
    Other,
}

/// Why a tag is refused, and at which byte of what stands between its brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagFault {
    Malformed(usize),
    /// More than are allowed.
    TooMany(usize),
}

/// A start tag. One is read after another into the same buffers.
#[derive(Debug, Default)]
pub struct Tag {
    /// What stands between the brackets.
    written: String,
    local: Range<usize>,
    namespace: Option<Namespace>,
    attributes: Vec<Attribute>,
    /// Their values, one after another.
    values: String,
}

#[derive(Debug)]
struct Attribute {
    name: Range<usize>,
    /// How long its prefix is; 0: it has none.
    prefix: usize,
    value: Range<usize>,
}

impl Tag {
    /// Its name without a prefix.
    #[must_use]
    pub fn local(&self) -> &str {
        self.written.get(self.local.clone()).unwrap_or_default()
    }

    /// Its name as it is written, prefix included.
    pub(super) fn name(&self) -> &str {
        self.written.get(..self.local.end).unwrap_or_default()
    }

    /// In which namespace the name is.
    #[must_use]
    pub fn namespace(&self) -> Namespace {
        self.namespace.unwrap_or(Namespace::None)
    }

    /// The value of an attribute, by its name as it is written, prefix included.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|attribute| self.name_of(attribute) == name)?;
        Some(self.value_of(found))
    }

    fn name_of(&self, attribute: &Attribute) -> &str {
        self.written.get(attribute.name.clone()).unwrap_or_default()
    }

    fn value_of(&self, attribute: &Attribute) -> &str {
        self.values.get(attribute.value.clone()).unwrap_or_default()
    }

    /// Reads what stands between the brackets; `depth` is that of the element.
    pub(super) fn read(&mut self, written: &str, depth: usize, scopes: &mut Scopes) -> Result<(), TagFault> {
        self.written.clear();
        self.written.push_str(written);
        self.values.clear();
        self.attributes.clear();
        let end = written.bytes().position(is_space).unwrap_or(written.len());
        let name = written.get(..end).unwrap_or_default();
        let (prefix, local) = split_name(name).ok_or(TagFault::Malformed(0))?;
        self.local = end - local.len()..end;
        self.read_attributes(end)?;
        self.check_names()?;
        for attribute in &self.attributes {
            let name = self.name_of(attribute);
            let declared = match attribute.prefix {
                0 if name == "xmlns" => "",
                0 => continue,
                _ => match name.strip_prefix("xmlns:") {
                    Some(prefix) => prefix,
                    None => continue,
                },
            };
            scopes.declare(depth, declared, self.value_of(attribute)).map_err(|fault| fault(attribute.name.start))?;
        }
        for attribute in self.attributes.iter().filter(|attribute| attribute.prefix > 0) {
            let prefix = self.name_of(attribute).get(..attribute.prefix).unwrap_or_default();
            if prefix != "xmlns" && scopes.find(prefix).is_none() {
                return Err(TagFault::Malformed(attribute.name.start));
            }
        }
        self.namespace = Some(scopes.find(prefix).ok_or(TagFault::Malformed(0))?);
        Ok(())
    }

    /// Reads attributes from a byte of the tag on: white space, a name, an equals sign, a value in quotes.
    fn read_attributes(&mut self, begin: usize) -> Result<(), TagFault> {
        let written = std::mem::take(&mut self.written);
        let mut at = begin;
        let mut outcome = Ok(());
        while let Some(next) = behind_space(&written, at) {
            if next == at {
                outcome = Err(TagFault::Malformed(at));
                break;
            }
            if self.attributes.len() >= ATTRIBUTES_MAX {
                outcome = Err(TagFault::TooMany(next));
                break;
            }
            match self.read_attribute(&written, next) {
                Ok(end) => at = end,
                Err(fault) => {
                    outcome = Err(fault);
                    break;
                }
            }
        }
        self.written = written;
        outcome
    }

    /// Where the attribute ends that begins there.
    fn read_attribute(&mut self, written: &str, begin: usize) -> Result<usize, TagFault> {
        let rest = written.get(begin..).unwrap_or_default();
        let length = rest.bytes().position(|byte| byte == b'=' || is_space(byte)).unwrap_or(rest.len());
        let name = begin..begin + length;
        let (prefix, _) = split_name(rest.get(..length).unwrap_or_default()).ok_or(TagFault::Malformed(begin))?;
        let wrong = TagFault::Malformed;
        let equals = behind_space(written, name.end).ok_or(wrong(name.end))?;
        if written.as_bytes().get(equals) != Some(&b'=') {
            return Err(wrong(equals));
        }
        let open = behind_space(written, equals + 1).ok_or(wrong(equals))?;
        let quote = match written.as_bytes().get(open) {
            Some(b'"') => '"',
            Some(b'\'') => '\'',
            _ => return Err(wrong(open)),
        };
        let rest = written.get(open + 1..).unwrap_or_default();
        let length = rest.find(quote).ok_or(wrong(open))?;
        let from = self.values.len();
        push_value(&mut self.values, rest.get(..length).unwrap_or_default()).map_err(|at| wrong(open + 1 + at))?;
        self.attributes.push(Attribute { name, prefix: prefix.len(), value: from..self.values.len() });
        Ok(open + 1 + length + 1)
    }

    /// No name occurs twice.
    fn check_names(&self) -> Result<(), TagFault> {
        let mut seen = HashSet::new();
        for (place, attribute) in self.attributes.iter().enumerate() {
            let name = self.name_of(attribute);
            let is_new = match self.attributes.len() {
                ..=COMPARED_MAX => !self.attributes.iter().take(place).any(|before| self.name_of(before) == name),
                _ => seen.insert(name),
            };
            if !is_new {
                return Err(TagFault::Malformed(attribute.name.start));
            }
        }
        Ok(())
    }
}

/// The first byte from there on that is no white space; `None` at the end.
fn behind_space(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    rest.iter().position(|byte| !is_space(*byte)).map(|passed| from + passed)
}

/// Adds what a written value says; which byte is wrong. White space becomes spaces, what is referred to stays (3.3.3).
fn push_value(values: &mut String, written: &str) -> Result<(), usize> {
    // U+FFFE and U+FFFF begin with 0xEF.
    if !written.bytes().any(|byte| byte < b' ' || matches!(byte, b'&' | b'<' | 0xEF)) {
        values.push_str(written);
        return Ok(());
    }
    let mut at = 0;
    while let Some(character) = written.get(at..).and_then(|rest| rest.chars().next()) {
        match character {
            '<' => return Err(at),
            '&' => {
                let rest = written.get(at + 1..).unwrap_or_default();
                let (name, _) = rest.split_once(';').ok_or(at)?;
                values.push(referred(name).ok_or(at)?);
                at += name.len() + 2;
                continue;
            }
            '\r' if written.as_bytes().get(at + 1) == Some(&b'\n') => {}
            '\t' | '\n' | '\r' => values.push(' '),
            other if is_character(other) => values.push(other),
            _ => return Err(at),
        }
        at += character.len_utf8();
    }
    Ok(())
}

/// Which prefixes stand for which namespaces around an element.
#[derive(Debug)]
pub(super) struct Scopes {
    known: &'static [&'static str],
    declared: Vec<Declared>,
}

#[derive(Debug)]
struct Declared {
    /// Of the element that declares it.
    depth: usize,
    prefix: String,
    namespace: Namespace,
}

impl Scopes {
    pub fn new(known: &'static [&'static str]) -> Scopes {
        Scopes { known, declared: Vec::new() }
    }

    fn declare(&mut self, depth: usize, prefix: &str, uri: &str) -> Result<(), fn(usize) -> TagFault> {
        if matches!(prefix, "xml" | "xmlns") || (!prefix.is_empty() && uri.is_empty()) {
            // `xml` may be declared as what it is, and nobody does.
            let is_itself = prefix == "xml" && uri == "http://www.w3.org/XML/1998/namespace";
            return if is_itself { Ok(()) } else { Err(TagFault::Malformed) };
        }
        if self.declared.len() >= DECLARED_MAX {
            return Err(TagFault::TooMany);
        }
        let namespace = match self.known.iter().position(|known| *known == uri) {
            Some(place) => Namespace::Known(place),
            None if uri.is_empty() => Namespace::None,
            None => Namespace::Other,
        };
        self.declared.push(Declared { depth, prefix: prefix.to_owned(), namespace });
        Ok(())
    }

    fn find(&self, prefix: &str) -> Option<Namespace> {
        let found = self.declared.iter().rev().find(|declared| declared.prefix == prefix);
        match (found, prefix) {
            (Some(declared), _) => Some(declared.namespace),
            (None, "") => Some(Namespace::None),
            (None, "xml") => Some(Namespace::Other),
            (None, _) => None,
        }
    }

    /// Forgets what the elements deeper than that declared.
    pub fn leave(&mut self, depth: usize) {
        while self.declared.pop_if(|last| last.depth > depth).is_some() {}
    }
}
