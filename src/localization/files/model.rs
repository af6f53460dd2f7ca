//! What a file consists of, whatever its kind.

use std::collections::BTreeMap;

use crate::category::Category;

/// U+FEFF in UTF-8. Readers pass over one at the start of a file, and exports keep it.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'k> {
    /// A JSON object; string leaves are units, siblings `k_one`, `k_other` one plural `k` (i18next v4).
    Json,
    /// A Java properties file, in UTF-8 or else ISO-8859-1.
    Properties,
    /// YAML as Rails has it: all below one root key, which is the locale and no part of any path; a mapping whose
    /// keys are plural categories is a plural.
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
    pub(super) path: String,
    pub(super) content: Content,
    pub(super) stays_when_omitted: bool,
}

impl Unit {
    /// The key's path: its own name at the top, names joined with dots below, elements of sequences by their index
    /// from 0. At most [`super::PATH_CHARACTERS_MAX`] characters, unique in the file.
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
}

/// A file that was read: its bytes, and which of them say what.
#[derive(Debug)]
pub struct Document<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) units: Vec<Unit>,
}

impl Document<'_> {
    /// The file's units, in file order; a plural stands where its first member does.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The units alone.
    pub fn into_units(self) -> Vec<Unit> {
        self.units
    }
}
