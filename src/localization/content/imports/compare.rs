//! What an upload changes, against the keys there were.

use std::collections::HashMap;

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;

use crate::content::model::{FileVersion, KeyEntry, Source};
use crate::formats::{Content, Unit};

/// How an upload changes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its source is another.
    Changed,
    /// It is gone.
    Obsoleted,
    /// It was gone and is back.
    Restored,
}

impl ChangeKind {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Obsoleted => "obsoleted",
            ChangeKind::Restored => "restored",
        }
    }
}

/// One change of a key.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Change {
    /// The key's number.
    pub number: u64,
    /// How it changed.
    pub kind: ChangeKind,
    /// The hash of its source before; none of a new key.
    pub before: Option<Digest>,
    /// The hash of its source after; none of one that is gone.
    pub after: Option<Digest>,
}

/// What an upload changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Every key afterwards, in the order of numbers.
    pub entries: Vec<KeyEntry>,
    /// The changes, in the order of numbers.
    pub changes: Vec<Change>,
    /// The number the next new key gets.
    pub next_number: u64,
    /// Active keys.
    pub active: u32,
}

/// How many changes there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// New keys.
    pub added: usize,
    /// Keys with another source.
    pub changed: usize,
    /// Keys that are gone.
    pub obsoleted: usize,
    /// Keys that are back.
    pub restored: usize,
}

impl Comparison {
    /// How many changes there are of each kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for change in &self.changes {
            match change.kind {
                ChangeKind::Added => counts.added += 1,
                ChangeKind::Changed => counts.changed += 1,
                ChangeKind::Obsoleted => counts.obsoleted += 1,
                ChangeKind::Restored => counts.restored += 1,
            }
        }
        counts
    }
}

/// Compares the units of an upload with the keys there were. Texts are moved, not copied: they may take fifty megabytes.
#[must_use]
pub fn compare(old: Vec<KeyEntry>, next_number: u64, version: FileVersion, units: Vec<Unit>) -> Comparison {
    let mut found = Comparison { entries: old, changes: Vec::new(), next_number, active: 0 };
    found.active = u32::try_from(units.len()).unwrap_or(u32::MAX);
    let (paths, mut contents): (Vec<String>, Vec<Option<Content>>) =
        units.into_iter().map(Unit::into_parts).map(|(path, content)| (path, Some(content))).unzip();
    let places: HashMap<&str, usize> = paths.iter().enumerate().map(|(place, path)| (path.as_str(), place)).collect();
    for entry in &mut found.entries {
        let unit = places.get(entry.path.as_str()).and_then(|place| contents.get_mut(*place));
        match unit.and_then(Option::take) {
            Some(content) => found.changes.extend(update(entry, Source::of(content), version)),
            None => found.changes.extend(take(entry)),
        }
    }
    drop(places);
    // The others are new.
    for (path, content) in paths.into_iter().zip(contents) {
        let Some(source) = content.map(Source::of) else { continue };
        let number = found.next_number;
        found.next_number += 1;
        let after = Some(source.sha256());
        found.changes.push(Change { number, kind: ChangeKind::Added, before: None, after });
        found.entries.push(KeyEntry { number, path, source, source_version: version, is_obsolete: false });
    }
    found
}

/// A key is in the upload, with that source.
fn update(entry: &mut KeyEntry, source: Source, version: FileVersion) -> Option<Change> {
    let (differs, was_obsolete) = (source != entry.source, entry.is_obsolete);
    let change = (differs || was_obsolete).then(|| {
        let kind = if was_obsolete { ChangeKind::Restored } else { ChangeKind::Changed };
        let (before, after) = (Some(entry.source.sha256()), Some(source.sha256()));
        Change { number: entry.number, kind, before, after }
    });
    if differs {
        entry.source = source;
        entry.source_version = version;
    }
    entry.is_obsolete = false;
    change
}

/// A key is not in the upload.
fn take(entry: &mut KeyEntry) -> Option<Change> {
    if entry.is_obsolete {
        return None;
    }
    entry.is_obsolete = true;
    let before = Some(entry.source.sha256());
    Some(Change { number: entry.number, kind: ChangeKind::Obsoleted, before, after: None })
}
