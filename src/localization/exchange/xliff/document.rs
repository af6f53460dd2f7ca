//! A document that came in: what its units want of which keys.

use std::io::Read;
use std::ops::Range;

use quintet_platform::ids::parse_uuid;
use quintet_platform::secrets::{Digest, digest};

use crate::content::{KeyId, TEXT_BYTES_MAX, key_id, split_key_id};
use crate::formats::ReadError;
use crate::formats::xliff::{Said, Unit, UnitReader};
use crate::language::Category;

/// The most units that are written in one transaction, and the most bytes of their texts, but for a single key's. The
/// contract's design allows five hundred; fewer let others in between.
const PART_UNITS: usize = 100;
/// See [`PART_UNITS`].
const PART_BYTES: usize = 1 << 20;
/// How much of the id of a unit that is no key is told again, in characters.
const ID_CHARS_MAX: usize = 100;

/// What came in.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its units, in its own order.
    pub units: Vec<UnitWish>,
    /// The targets, one after another.
    texts: String,
    /// Which units name keys of the file, by the keys' numbers, those of one key in the document's order.
    by_key: Vec<u32>,
}

/// What a unit wants.
#[derive(Clone, Debug)]
pub struct UnitWish {
    /// What it is of.
    pub named: Named,
    /// SHA-256 of its source; none if that has a code without text.
    pub source_sha256: Option<Digest>,
    /// Its target; none if there is none.
    pub target: Option<TargetPlace>,
}

/// What a unit is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// What may be a key of the file, by its number, and the form of it.
    Key(u64, Option<Category>),
    /// Anything else; the id, cut where it is long.
    Other(String),
}

/// A target of a document.
#[derive(Clone, Debug)]
pub struct TargetPlace {
    text: Range<usize>,
    /// Whether it has a code without text.
    pub has_bare_code: bool,
}

impl Document {
    /// A target's text; what is too long for a translation is cut, and is too long still.
    pub fn text(&self, target: &TargetPlace) -> &str {
        self.texts.get(target.text.clone()).unwrap_or_default()
    }

    /// A unit by its place.
    pub fn unit(&self, place: u32) -> Option<&UnitWish> {
        self.units.get(place as usize)
    }

    /// The units of keys, by the numbers of these.
    pub fn by_key(&self) -> &[u32] {
        &self.by_key
    }

    /// The number of the key that a unit names.
    pub fn number(&self, place: u32) -> u64 {
        match self.unit(place).map(|unit| &unit.named) {
            Some(Named::Key(number, _)) => *number,
            _ => 0,
        }
    }

    /// How the units of keys are cut into parts: one at least, whatever there is.
    pub fn parts(&self) -> Vec<Range<usize>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let (mut begin, mut bytes, mut at) = (0, 0, 0);
        for key in self.by_key.chunk_by(|one, other| self.number(*one) == self.number(*other)) {
            let more: usize = key.iter().map(|place| self.target_bytes(*place)).sum();
            if at > begin && (at + key.len() - begin > PART_UNITS || bytes + more > PART_BYTES) {
                parts.push(begin..at);
                (begin, bytes) = (at, 0);
            }
            at += key.len();
            bytes += more;
        }
        parts.push(begin..at);
        parts
    }

    fn target_bytes(&self, place: u32) -> usize {
        let target = self.unit(place).and_then(|unit| unit.target.as_ref());
        target.map_or(0, |target| target.text.len())
    }

    fn push(&mut self, unit: Unit, key_prefix: u64) {
        let source_sha256 = (!unit.source.has_bare_code).then(|| digest(unit.source.text.as_bytes()));
        // Tools write an empty target where there is none.
        let target = unit.target.filter(|target| *target != Said::default() || unit.source.text.is_empty());
        let target = target.map(|target| {
            let begin = self.texts.len();
            let end = target.text.floor_char_boundary(TEXT_BYTES_MAX + 4);
            self.texts.push_str(target.text.get(..end).unwrap_or_default());
            TargetPlace { text: begin..self.texts.len(), has_bare_code: target.has_bare_code }
        });
        let named = named(unit.id, key_prefix);
        if let (Named::Key(..), Ok(place)) = (&named, u32::try_from(self.units.len())) {
            self.by_key.push(place);
        }
        self.units.push(UnitWish { named, source_sha256, target });
    }
}

/// What an id names in a file: `<key id>`, or `<key id>.<category>` for a form of a plural (localization, X3).
fn named(id: String, key_prefix: u64) -> Named {
    let (key, category) = match id.split_once('.') {
        None => (id.as_str(), Ok(None)),
        Some((key, name)) => (key, Category::from_name(name).map(Some).ok_or(())),
    };
    let number = parse_uuid(key).filter(|uuid| uuid.to_string() == key).and_then(|uuid| split_key_id(KeyId(uuid)));
    match (number, category) {
        (Some((prefix, number)), Ok(category)) if prefix == key_prefix => Named::Key(number, category),
        _ => Named::Other(id.chars().take(ID_CHARS_MAX).collect()),
    }
}

impl Named {
    /// The unit's id.
    pub fn id(&self, key_prefix: u64) -> String {
        match self {
            Named::Key(number, None) => key_id(key_prefix, *number).0.to_string(),
            Named::Key(number, Some(category)) => format!("{}.{}", key_id(key_prefix, *number).0, category.name()),
            Named::Other(id) => id.clone(),
        }
    }
}

/// Reads the rest of a document. `key_prefix` is what the ids of the file's keys begin with.
///
/// # Errors
/// As [`UnitReader::next_unit`].
pub fn read_document<R: Read>(mut reader: UnitReader<R>, key_prefix: u64) -> Result<Document, ReadError> {
    let mut document = Document::default();
    while let Some(unit) = reader.next_unit()? {
        document.push(unit, key_prefix);
    }
    let mut by_key = std::mem::take(&mut document.by_key);
    by_key.sort_by_key(|place| document.number(*place));
    document.by_key = by_key;
    Ok(document)
}
