//! How an export differs from the stored file: which bytes give way to what, and what a reader must find afterwards.

use std::ops::Range;

use super::model::{Content, Document, Leaf, Parts};

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
    /// No difference at all.
    pub fn new(document: &'d Document<'d>, ascii: bool) -> Plan<'d, 'e> {
        let fates = vec![Fate::Kept; document.scan.leaves.len()];
        Plan { document, ascii, splices: Vec::new(), fates, inserted: Vec::new() }
    }

    /// Whether the file stays as it is.
    pub fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    /// That leaf.
    pub fn leaf(&self, index: usize) -> Option<&'d Leaf> {
        self.document.scan.leaves.get(index)
    }

    /// Whether nothing has been planned for a leaf yet.
    pub fn is_kept(&self, leaf: usize) -> bool {
        matches!(self.fates.get(leaf), Some(Fate::Kept))
    }

    /// Replaces bytes.
    pub fn replace(&mut self, range: Range<usize>, text: String) {
        self.splices.push(Splice { range, text });
    }

    /// Gives a leaf another text, written so.
    pub fn write(&mut self, leaf: usize, written: String, text: &'e str) {
        let Some(value) = self.leaf(leaf).map(|leaf| leaf.value.clone()) else { return };
        self.replace(value, written);
        if let Some(fate) = self.fates.get_mut(leaf) {
            *fate = Fate::Written(text);
        }
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

    /// The bytes with all of it done; `None` if two replacements overlap.
    pub fn apply(&self) -> Option<Vec<u8>> {
        let bytes = self.document.bytes;
        // Insertions before what starts at the same byte, and in the order in which they were made.
        let mut order: Vec<&Splice> = self.splices.iter().collect();
        order.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        let mut at = 0;
        for splice in order {
            out.extend_from_slice(bytes.get(at..splice.range.start)?);
            out.extend_from_slice(splice.text.as_bytes());
            at = splice.range.end;
        }
        out.extend_from_slice(bytes.get(at..)?);
        Some(out)
    }

    /// The leaves a reader must find, in order: path and text.
    pub fn meant(&self) -> Vec<(&str, &str)> {
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
pub(super) fn leaf_texts<'d>(document: &'d Document<'_>) -> Vec<&'d str> {
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
