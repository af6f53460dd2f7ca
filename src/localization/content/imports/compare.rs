//! What an upload changes, against the keys there were.

use std::collections::{HashMap, HashSet};

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;

use crate::content::model::{FileVersion, KeyEntry, Source};
use crate::formats::Unit;

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

/// Compares the units of an upload with the keys there were.
#[must_use]
pub fn compare(old: Vec<KeyEntry>, next_number: u64, version: FileVersion, units: &[Unit]) -> Comparison {
    let mut found = Comparison { entries: old, changes: Vec::new(), next_number, active: 0 };
    let by_path: HashMap<&str, &Unit> = units.iter().map(|unit| (unit.path(), unit)).collect();
    let mut known = HashSet::with_capacity(found.entries.len());
    for entry in &mut found.entries {
        let Some(unit) = by_path.get(entry.path.as_str()) else {
            if !entry.is_obsolete {
                let before = Some(entry.source.sha256());
                found.changes.push(Change { number: entry.number, kind: ChangeKind::Obsoleted, before, after: None });
                entry.is_obsolete = true;
            }
            continue;
        };
        known.insert(unit.path());
        let source = Source::of(unit.content());
        let differs = source != entry.source;
        if differs || entry.is_obsolete {
            let kind = if entry.is_obsolete { ChangeKind::Restored } else { ChangeKind::Changed };
            let (before, after) = (Some(entry.source.sha256()), Some(source.sha256()));
            found.changes.push(Change { number: entry.number, kind, before, after });
        }
        if differs {
            entry.source = source;
            entry.source_version = version;
        }
        entry.is_obsolete = false;
    }
    for unit in units.iter().filter(|unit| !known.contains(unit.path())) {
        let source = Source::of(unit.content());
        let number = found.next_number;
        found.next_number += 1;
        let after = Some(source.sha256());
        found.changes.push(Change { number, kind: ChangeKind::Added, before: None, after });
        let path = unit.path().to_owned();
        found.entries.push(KeyEntry { number, path, source, source_version: version, is_obsolete: false });
    }
    found.active = u32::try_from(units.len()).unwrap_or(u32::MAX);
    found
}
