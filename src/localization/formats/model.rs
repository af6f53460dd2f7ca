//! What a file consists of, whatever its kind.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::limits::{PATH_CHARACTERS_MAX, UNITS_MAX};
use super::refusal::{Code, Offence, ReaderRefusal};
use crate::language::Category;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'k> {
    /// A JSON object; string leaves are units. Two or more string siblings `k_one`, `k_other`, … whose suffixes are
    /// plural categories, `other` among them, are one plural `k` (i18next v4). Ordinals (`k_ordinal_one`) are not:
    /// they have other categories than the cardinal ones that a plural is given; each stays a text.
    Json,
    /// A Java properties file, in UTF-8 or else ISO-8859-1.
    Properties,
    /// YAML as Rails has it: all below one root key, which is the locale and no part of any path; a mapping whose
    /// keys are plural categories, `other` among them, and whose values are strings is a plural.
    Rails {
        /// The root key.
        root: &'k str,
    },
    /// YAML without a root key and without plurals.
    Flat,
}

/// The forms of a plural.
pub type Forms = BTreeMap<Category, String>;

/// What a unit says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// One text.
    Text(String),
    /// A plural; `other` is always among the forms.
    Plural(Forms),
}

/// A key of a file and what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    path: String,
    content: Content,
    stays_when_omitted: bool,
}

impl Unit {
    /// The key's path: its own name at the top, names joined with dots below, elements of sequences by their index
    /// from 0. At most [`PATH_CHARACTERS_MAX`] characters, unique in the file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What it says.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Whether [`super::Edit::Omit`] leaves it as it is: it is an element of an array, whose neighbours would move.
    pub fn stays_when_omitted(&self) -> bool {
        self.stays_when_omitted
    }

    /// Path and content.
    pub fn into_parts(self) -> (String, Content) {
        (self.path, self.content)
    }
}

/// A file that was read: its bytes, and which of them say what.
#[derive(Debug)]
pub struct Document<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) units: Vec<Unit>,
    pub(super) scan: Scan,
    /// Which leaves make each unit.
    pub(super) parts: Vec<Parts>,
    pub(super) family: Family,
    /// The root key of a rails file, else empty.
    pub(super) root: String,
}

impl Document<'_> {
    /// The file's units, in file order; a plural stands where its first member does.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Where the root key of a rails file stands, as what it would be refused with under another root; nothing in a file
    /// without one.
    pub fn root_place(&self) -> Option<ReaderRefusal> {
        let root = self.scan.root.as_ref()?;
        Some(Offence::new(Code::KeyInvalid, root.start).place_in(self.bytes))
    }

    /// The units alone.
    pub fn into_units(self) -> Vec<Unit> {
        self.units
    }
}

/// The formats, without what the reader must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Json,
    Properties,
    Rails,
    Flat,
}

/// The leaves that make a unit, as indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    Text(usize),
    Plural(Vec<(Category, usize)>),
}

/// A string value where it stands.
#[derive(Debug)]
pub(super) struct Leaf {
    /// As [`Unit::path`], plural members by their own names.
    pub path: String,
    /// Decoded. Taken out once the leaf is part of a unit.
    pub text: String,
    /// Its name as written, quotes included; empty at the value for an element of a sequence.
    pub key: Range<usize>,
    /// Its value as written, quotes included.
    pub value: Range<usize>,
    pub style: Style,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A JSON string, as that member; none for an element of an array.
    Json { member: Option<usize> },
    /// A value of a properties file.
    Property(Separator),
    /// A YAML scalar in one line or more; `flow`, here and below: inside brackets or braces.
    Plain { flow: bool },
    /// In single quotes.
    Single { flow: bool },
    /// In double quotes.
    Double { flow: bool },
    /// A block scalar, with the column of its content.
    Block { folded: bool, indent: usize },
}

/// What stands between a property's key and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// An equals sign or a colon.
    Sign,
    /// White space alone.
    Blank,
    /// Nothing, since there is no value.
    Missing,
}

/// What a reader finds in a file.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// In file order.
    pub leaves: Vec<Leaf>,
    /// The leaves that are one plural each, in file order of their first members.
    pub plurals: Vec<Vec<(Category, usize)>>,
    /// All members of all objects of a JSON file, in file order.
    pub members: Vec<Member>,
    /// The root key of a rails file, as written.
    pub root: Option<Range<usize>>,
    /// JSON: slashes are written as `\/`.
    pub escaped_slashes: bool,
    /// Properties: the bytes are ISO-8859-1, not UTF-8.
    pub latin1: bool,
}

/// How many values to make room for in a file of that many bytes, so that lists need not grow step by step.
pub(super) fn expected_values(bytes: usize) -> usize {
    const BYTES_OF_A_VALUE: usize = 56;
    (bytes / BYTES_OF_A_VALUE).min(UNITS_MAX)
}

/// A member of a JSON object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// The object, by number.
    pub object: usize,
    /// Where its name starts.
    pub start: usize,
    /// Where its value ends.
    pub end: usize,
    /// Where the comma behind it stands.
    pub comma: Option<usize>,
}

impl<'b> Document<'b> {
    /// Makes units of leaves.
    pub(super) fn new(kind: Kind<'_>, bytes: &'b [u8], mut scan: Scan) -> Document<'b> {
        let mut grouped = vec![None; scan.leaves.len()];
        for (index, plural) in scan.plurals.iter().enumerate() {
            for (_, leaf) in plural {
                if let Some(place) = grouped.get_mut(*leaf) {
                    *place = Some(index);
                }
            }
        }
        let mut units = Vec::with_capacity(scan.leaves.len());
        let mut parts = Vec::with_capacity(scan.leaves.len());
        let mut begun = vec![false; scan.plurals.len()];
        for index in 0..scan.leaves.len() {
            match grouped.get(index).copied().flatten() {
                None => {
                    let Some(leaf) = scan.leaves.get_mut(index) else { continue };
                    units.push(Unit {
                        path: leaf.path.clone(),
                        content: Content::Text(std::mem::take(&mut leaf.text)),
                        stays_when_omitted: leaf.key.is_empty(),
                    });
                    parts.push(Parts::Text(index));
                }
                Some(number) => {
                    let Some(first @ false) = begun.get_mut(number) else { continue };
                    *first = true;
                    let members = scan.plurals.get(number).cloned().unwrap_or_default();
                    let mut path = String::new();
                    let mut forms = Forms::new();
                    for (category, leaf) in &members {
                        let Some(leaf) = scan.leaves.get_mut(*leaf) else { continue };
                        forms.insert(*category, std::mem::take(&mut leaf.text));
                        // `a.k_one` and `a.k.one`: the path is what stands before the separator.
                        let name = leaf.path.len().saturating_sub(category.name().len() + 1);
                        path = leaf.path.get(..name).unwrap_or_default().to_owned();
                    }
                    units.push(Unit { path, content: Content::Plural(forms), stays_when_omitted: false });
                    parts.push(Parts::Plural(members));
                }
            }
        }
        let (family, root) = match kind {
            Kind::Json => (Family::Json, ""),
            Kind::Properties => (Family::Properties, ""),
            Kind::Rails { root } => (Family::Rails, root),
            Kind::Flat => (Family::Flat, ""),
        };
        Document { bytes, units, scan, parts, family, root: root.to_owned() }
    }

    /// # Errors
    /// [`Code::DuplicateKey`] at the second of two units with one path.
    pub(super) fn refuse_equal_paths(&self) -> Result<(), Offence> {
        let mut paths = HashSet::with_capacity(self.units.len());
        for (unit, parts) in self.units.iter().zip(&self.parts) {
            if !paths.insert(unit.path.as_str()) {
                let leaf = match parts {
                    Parts::Text(leaf) => Some(leaf),
                    Parts::Plural(members) => members.first().map(|(_, leaf)| leaf),
                };
                let leaf = leaf.and_then(|leaf| self.scan.leaves.get(*leaf));
                return Err(Offence::new(Code::DuplicateKey, leaf.map_or(0, |leaf| leaf.key.start)));
            }
        }
        Ok(())
    }
}

/// A path under construction: names are put behind a prefix and taken off again.
#[derive(Debug, Default)]
pub(super) struct Path {
    text: String,
}

impl Path {
    /// How long it is, to return to with [`Path::set`].
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Puts `name` behind the first `base` bytes, with a dot unless this is the top.
    pub fn set(&mut self, base: usize, top: bool, name: &str) {
        self.text.truncate(base);
        if !top {
            self.text.push('.');
        }
        self.text.push_str(name);
    }

    /// The path, unless it is longer than paths may be.
    pub fn checked(&self) -> Option<Cow<'_, str>> {
        let short = self.text.len() <= PATH_CHARACTERS_MAX || self.text.chars().count() <= PATH_CHARACTERS_MAX;
        short.then_some(Cow::Borrowed(self.text.as_str()))
    }
}

/// Whether a translation can be written into every kind of file: all text but the character U+0000, which ends a text
/// for many programs that read such files. Readers refuse it likewise, with [`Code::ValueUnrepresentable`].
pub fn is_representable(text: &str) -> bool {
    !text.contains('\0')
}
