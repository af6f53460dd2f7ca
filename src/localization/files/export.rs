//! Writing a file again: the stored bytes, with the ranges of changed values replaced.
//!
//! A [`Plan`] collects which bytes give way to what, and what a reader must find afterwards. The bytes are put
//! together, read again and compared with that before anybody gets them.

use std::ops::Range;
use std::time::Instant;

use super::budget::Budget;
use super::model::{Content, Document, Family, Forms, Leaf, Parts, Style};
use super::refusal::Code;
use super::{Kind, is_representable, json, properties, yaml};
use crate::category::Category;

/// What becomes of a unit in an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'e> {
    /// Its bytes stay as they are.
    Keep,
    /// A text unit's value, written in the style of the old one where that can hold it.
    Text(&'e str),
    /// A plural's forms: the plural gets exactly these members, in CLDR's order; `other` must be among them.
    Forms(&'e Forms),
    /// The member goes, with one comma and no other byte. Of a JSON file alone; an element of an array stays
    /// ([`super::Unit::stays_when_omitted`]).
    Omit,
}

/// Why a file was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportRefusal {
    /// The edit of the unit of that index does not fit: forms for a text, a text for a plural, forms without `other`,
    /// an omission in another kind of file; or there is not one edit for each unit. A mistake of the caller.
    #[error("the edit of unit {0} does not fit it")]
    EditMismatch(usize),
    /// The value of the unit of that index holds U+0000 ([`super::is_representable`]).
    #[error("the value of unit {0} cannot be written into a file")]
    ValueUnrepresentable(usize),
    /// The deadline passed.
    #[error("writing the file took too long")]
    Timeout,
    /// What was written does not read as what was meant. Never served; a fault of this module.
    #[error("the written file does not read as what was meant")]
    Unfaithful,
}

impl Document<'_> {
    /// Writes the file again, with one edit for each unit, in their order. `root` is the new root key of a rails file
    /// (the target's canonical tag); `None` keeps the old one, and other kinds have none.
    ///
    /// A value that already says what it should keeps its bytes. Without any change the bytes are the file's own.
    ///
    /// # Errors
    /// See [`ExportRefusal`].
    pub fn export(&self, root: Option<&str>, edits: &[Edit<'_>], deadline: Instant) -> Result<Vec<u8>, ExportRefusal> {
        let units = self.units.len();
        if edits.len() != units {
            return Err(ExportRefusal::EditMismatch(edits.len().min(units)));
        }
        for (index, edit) in edits.iter().enumerate() {
            self.check(index, edit)?;
        }
        let plan = Plan::new(self, root, edits, false);
        let written = plan.apply()?;
        // Bytes that were no UTF-8 may be by accident once the values that were not are gone.
        let ambiguous = self.scan.latin1 && !written.is_ascii() && std::str::from_utf8(&written).is_ok();
        if !ambiguous {
            return plan.verified(written, root, deadline);
        }
        let plan = Plan::new(self, root, edits, true);
        plan.verified(plan.apply()?, root, deadline)
    }

    fn check(&self, index: usize, edit: &Edit<'_>) -> Result<(), ExportRefusal> {
        let content = self.units.get(index).map(super::Unit::content);
        let fits = match (edit, content) {
            (Edit::Keep, _) | (Edit::Text(_), Some(Content::Text(_))) => true,
            (Edit::Forms(forms), Some(Content::Plural(_))) => forms.contains_key(&Category::Other),
            (Edit::Omit, _) => self.family == Family::Json,
            _ => false,
        };
        if !fits {
            return Err(ExportRefusal::EditMismatch(index));
        }
        let representable = match edit {
            Edit::Text(text) => is_representable(text),
            Edit::Forms(forms) => forms.values().all(|form| is_representable(form)),
            Edit::Keep | Edit::Omit => true,
        };
        if representable { Ok(()) } else { Err(ExportRefusal::ValueUnrepresentable(index)) }
    }
}

/// Bytes that give way to others.
struct Splice {
    range: Range<usize>,
    text: String,
}

/// What becomes of a leaf.
#[derive(Clone, Copy)]
enum Fate<'e> {
    Kept,
    Written(&'e str),
    Gone,
}

/// A new leaf.
struct Inserted<'e> {
    at: usize,
    path: String,
    text: &'e str,
}

/// How an export differs from the stored file.
pub(super) struct Plan<'d, 'e> {
    pub document: &'d Document<'d>,
    /// Whether all but ASCII is written as escapes.
    pub ascii: bool,
    splices: Vec<Splice>,
    fates: Vec<Fate<'e>>,
    inserted: Vec<Inserted<'e>>,
}

impl<'d, 'e> Plan<'d, 'e> {
    /// `escape_all` escapes keys and kept values of a properties file, too.
    fn new(document: &'d Document<'d>, root: Option<&str>, edits: &[Edit<'e>], escape_all: bool) -> Plan<'d, 'e> {
        let ascii = match document.family {
            // What a program reads that knows neither UTF-8 nor the file's history.
            Family::Properties => document.scan.latin1 || document.bytes.is_ascii(),
            // A file of ASCII with escapes is meant to stay one; a file without any says nothing about it.
            _ => document.bytes.is_ascii() && document.units.iter().any(|unit| !is_ascii(unit.content())),
        };
        let mut plan = Plan {
            document,
            ascii,
            splices: Vec::new(),
            fates: vec![Fate::Kept; document.scan.leaves.len()],
            inserted: Vec::new(),
        };
        let mut omitted = vec![false; document.scan.members.len()];
        let mut retired = vec![false; document.scan.members.len()];
        for ((unit, parts), edit) in document.units.iter().zip(&document.parts).zip(edits) {
            match (edit, parts, unit.content()) {
                (Edit::Text(text), Parts::Text(leaf), Content::Text(old)) if text != old => plan.write(*leaf, text),
                (Edit::Forms(forms), Parts::Plural(members), Content::Plural(old)) if *forms != old => {
                    for (category, leaf) in members {
                        match forms.get(category) {
                            Some(text) if old.get(category) != Some(text) => plan.write(*leaf, text),
                            _ => {}
                        }
                    }
                    match document.family {
                        Family::Json => json::rewrite_plural(&mut plan, members, forms, &mut retired),
                        _ => yaml::rewrite_plural(&mut plan, members, forms),
                    }
                }
                (Edit::Omit, Parts::Text(leaf), _) => plan.omit(*leaf, &mut omitted),
                (Edit::Omit, Parts::Plural(members), _) => {
                    members.iter().for_each(|(_, leaf)| plan.omit(*leaf, &mut omitted));
                }
                _ => {}
            }
        }
        json::omit(&mut plan, &omitted, &retired);
        if let (Some(name), Some(range)) = (root, &document.scan.root) {
            let written = yaml::write_key(document.bytes, range, name);
            if written.as_bytes() != super::model::part(document.bytes, range.clone()) {
                plan.replace(range.clone(), written);
            }
        }
        if escape_all {
            plan.escape_kept();
        }
        plan
    }

    /// Replaces bytes.
    pub fn replace(&mut self, range: Range<usize>, text: String) {
        self.splices.push(Splice { range, text });
    }

    /// Puts a new leaf and the bytes around it before byte `at`.
    pub fn insert(&mut self, at: usize, written: String, path: String, text: &'e str) {
        self.replace(at..at, written);
        self.inserted.push(Inserted { at, path, text });
    }

    /// Takes a leaf out of what a reader is to find.
    pub fn forget(&mut self, leaf: usize) {
        if let Some(fate) = self.fates.get_mut(leaf) {
            *fate = Fate::Gone;
        }
    }

    /// That leaf.
    pub fn leaf(&self, index: usize) -> Option<&'d Leaf> {
        self.document.scan.leaves.get(index)
    }

    /// Writes a value in the style of `leaf`.
    pub fn written(&self, leaf: &Leaf, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 2);
        match leaf.style {
            Style::Json { .. } => {
                json::write_string(&mut out, text, self.ascii, self.document.scan.escaped_slashes);
            }
            Style::Property(separator) => properties::write_value(&mut out, text, separator, self.ascii),
            _ => yaml::write_value(&mut out, self.document.bytes, leaf, text, self.ascii),
        }
        out
    }

    fn write(&mut self, index: usize, text: &'e str) {
        let Some(leaf) = self.leaf(index) else { return };
        let written = self.written(leaf, text);
        self.replace(leaf.value.clone(), written);
        if let Some(fate) = self.fates.get_mut(index) {
            *fate = Fate::Written(text);
        }
    }

    fn omit(&mut self, leaf: usize, omitted: &mut [bool]) {
        let Some(Style::Json { member: Some(member) }) = self.leaf(leaf).map(|leaf| leaf.style) else { return };
        if let Some(flag) = omitted.get_mut(member) {
            *flag = true;
            self.forget(leaf);
        }
    }

    fn escape_kept(&mut self) {
        for (index, text) in leaf_texts(self.document).into_iter().enumerate() {
            let kept = matches!(self.fates.get(index), Some(Fate::Kept));
            let Some(leaf) = self.leaf(index) else { continue };
            if !leaf.path.is_ascii() {
                self.replace(leaf.key.clone(), properties::written_key(&leaf.path));
            }
            if kept && !text.is_ascii() {
                self.replace(leaf.value.clone(), self.written(leaf, text));
            }
        }
    }

    fn apply(&self) -> Result<Vec<u8>, ExportRefusal> {
        let bytes = self.document.bytes;
        // Insertions before what starts at the same byte, and in the order in which they were made.
        let mut order: Vec<&Splice> = self.splices.iter().collect();
        order.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        let mut at = 0;
        for splice in order {
            let between = bytes.get(at..splice.range.start).ok_or(ExportRefusal::Unfaithful)?;
            out.extend_from_slice(between);
            out.extend_from_slice(splice.text.as_bytes());
            at = splice.range.end;
        }
        out.extend_from_slice(bytes.get(at..).ok_or(ExportRefusal::Unfaithful)?);
        Ok(out)
    }

    /// Reads what was written, and hands it out if it says what it should.
    fn verified(&self, written: Vec<u8>, root: Option<&str>, deadline: Instant) -> Result<Vec<u8>, ExportRefusal> {
        if self.splices.is_empty() {
            return Ok(written);
        }
        let document = self.document;
        let old_root;
        let kind = match document.family {
            Family::Json => Kind::Json,
            Family::Properties => Kind::Properties,
            Family::Flat => Kind::Flat,
            Family::Rails => match root {
                Some(root) => Kind::Rails { root },
                None => {
                    old_root = document.root.clone();
                    Kind::Rails { root: &old_root }
                }
            },
        };
        let found =
            super::scan(kind, &written, &mut Budget::for_written(deadline)).map_err(|offence| match offence.code {
                Code::ParseTimeout => ExportRefusal::Timeout,
                _ => ExportRefusal::Unfaithful,
            })?;
        let meant = self.meant();
        let same = found.leaves.len() == meant.len()
            && found.leaves.iter().zip(&meant).all(|(leaf, (path, text))| leaf.path == *path && leaf.text == *text);
        if same { Ok(written) } else { Err(ExportRefusal::Unfaithful) }
    }

    /// The leaves a reader must find, in order.
    fn meant(&self) -> Vec<(&str, &str)> {
        let mut inserted: Vec<&Inserted> = self.inserted.iter().collect();
        inserted.sort_by_key(|new| new.at);
        let mut inserted = inserted.into_iter().peekable();
        let mut meant = Vec::with_capacity(self.fates.len() + self.inserted.len());
        let texts = leaf_texts(self.document);
        for ((leaf, fate), kept) in self.document.scan.leaves.iter().zip(&self.fates).zip(texts) {
            while let Some(new) = inserted.next_if(|new| new.at <= leaf.value.start) {
                meant.push((new.path.as_str(), new.text));
            }
            match fate {
                Fate::Kept => meant.push((leaf.path.as_str(), kept)),
                Fate::Written(text) => meant.push((leaf.path.as_str(), text)),
                Fate::Gone => {}
            }
        }
        meant.extend(inserted.map(|new| (new.path.as_str(), new.text)));
        meant
    }
}

/// The text of each leaf, which its unit holds.
fn leaf_texts<'d>(document: &'d Document<'_>) -> Vec<&'d str> {
    let mut texts = vec![""; document.scan.leaves.len()];
    let mut set = |leaf: usize, text: &'d str| {
        if let Some(place) = texts.get_mut(leaf) {
            *place = text;
        }
    };
    for (unit, parts) in document.units.iter().zip(&document.parts) {
        match (unit.content(), parts) {
            (Content::Text(text), Parts::Text(leaf)) => set(*leaf, text),
            (Content::Plural(forms), Parts::Plural(members)) => {
                for (category, leaf) in members {
                    set(*leaf, forms.get(category).map_or("", String::as_str));
                }
            }
            _ => {}
        }
    }
    texts
}

fn is_ascii(content: &Content) -> bool {
    match content {
        Content::Text(text) => text.is_ascii(),
        Content::Plural(forms) => forms.values().all(|form| form.is_ascii()),
    }
}
