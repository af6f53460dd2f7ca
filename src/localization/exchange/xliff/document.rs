//! A document that came in: what its units want of which keys.

use std::io::Read;
use std::ops::Range;

use quintet_platform::ids::parse_uuid;
use quintet_platform::secrets::{Digest, digest};

use crate::content::{KeyId, TEXT_BYTES_MAX, key_id, split_key_id};
use crate::exchange::texts::{TextPlace, Texts};
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
    /// The targets of what may be keys of the file.
    texts: Texts,
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
    Other(Box<str>),
}

/// A target of a document.
#[derive(Clone, Debug)]
pub struct TargetPlace {
    text: TextPlace,
    /// Whether it has a code without text.
    pub has_bare_code: bool,
}

impl Document {
    /// A target's text; what is too long for a translation is cut, and is too long still.
    pub fn text(&self, target: &TargetPlace) -> &str {
        self.texts.get(target.text)
    }

    /// Forgets the targets: what became of the units is known.
    pub fn forget_texts(&mut self) {
        self.texts = Texts::default();
    }

    /// What its units take, about, their targets not counted.
    pub fn units_bytes(&self) -> usize {
        let others = self.units.iter().map(|unit| match &unit.named {
            Named::Key(..) => 0,
            Named::Other(id) => id.len(),
        });
        self.units.capacity() * size_of::<UnitWish>() + others.sum::<usize>()
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

    /// The same with its units by the numbers of their keys, too.
    fn sorted(mut self) -> Document {
        let mut by_key = std::mem::take(&mut self.by_key);
        by_key.sort_by_key(|place| self.number(*place));
        self.by_key = by_key;
        self
    }

    fn target_bytes(&self, place: u32) -> usize {
        let target = self.unit(place).and_then(|unit| unit.target.as_ref());
        target.map_or(0, |target| target.text.len())
    }

    fn push(&mut self, unit: Unit, key_prefix: u64) {
        let named = named(unit.id, key_prefix);
        let Named::Key(..) = named else {
            // Nobody asks what else it says.
            self.units.push(UnitWish { named, source_sha256: None, target: None });
            return;
        };
        let source_sha256 = (!unit.source.has_bare_code).then(|| digest(unit.source.text.as_bytes()));
        // Tools write an empty target where there is none.
        let target = unit.target.filter(|target| *target != Said::default() || unit.source.text.is_empty());
        let target = target.map(|target| {
            let end = target.text.floor_char_boundary(TEXT_BYTES_MAX + 4);
            let text = self.texts.push(target.text.get(..end).unwrap_or_default());
            TargetPlace { text, has_bare_code: target.has_bare_code }
        });
        if let Ok(place) = u32::try_from(self.units.len()) {
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
        _ => Named::Other(id.chars().take(ID_CHARS_MAX).collect::<String>().into()),
    }
}

impl Named {
    /// The unit's id.
    pub fn id(&self, key_prefix: u64) -> String {
        match self {
            Named::Key(number, None) => key_id(key_prefix, *number).0.to_string(),
            Named::Key(number, Some(category)) => format!("{}.{}", key_id(key_prefix, *number).0, category.name()),
            Named::Other(id) => id.to_string(),
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
    Ok(document.sorted())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What key ids begin with.
    const PREFIX: u64 = 0xabcd_2222_3333_8444;

    fn unit(number: u64, category: Option<Category>, target: &str) -> Unit {
        let said = |text: &str| Said { text: text.to_owned(), has_bare_code: false };
        let id = Named::Key(number, category).id(PREFIX);
        Unit { id, source: said("source"), target: Some(said(target)) }
    }

    fn document(units: Vec<Unit>) -> Document {
        let mut document = Document::default();
        units.into_iter().for_each(|unit| document.push(unit, PREFIX));
        document.sorted()
    }

    #[test]
    fn ids_name_keys_and_their_forms() {
        for named in [Named::Key(7, None), Named::Key(8, Some(Category::Few)), Named::Key(1 << 40, None)] {
            assert_eq!(super::named(named.id(PREFIX), PREFIX), named);
        }
        let id = Named::Key(7, None).id(PREFIX);
        for other in
            [id.to_uppercase(), format!("{id}.several"), format!("{id}."), format!("{{{id}}}"), id.replace('-', "")]
        {
            assert_eq!(super::named(other.clone(), PREFIX), Named::Other(other.into()));
        }
        assert_eq!(super::named(id.clone(), PREFIX + 1), Named::Other(id.into()), "a key of another file");
        assert_eq!(super::named("é".repeat(300), PREFIX), Named::Other("é".repeat(100).into()));
    }

    #[test]
    fn long_targets_are_cut_and_stay_too_long() {
        let document = document(vec![unit(1, None, &"é".repeat(40_000))]);
        let target = document.units[0].target.as_ref().unwrap();
        assert!((TEXT_BYTES_MAX + 1..=TEXT_BYTES_MAX + 4).contains(&document.text(target).len()));
    }

    #[test]
    fn an_empty_target_beside_a_source_is_none() {
        let mut empty = unit(2, None, "");
        empty.source.text.clear();
        let document = document(vec![unit(1, None, ""), empty]);
        assert!(document.units[0].target.is_none() && document.units[1].target.is_some());
    }

    proptest! {
        #[test]
        fn parts_hold_every_unit_once_and_no_key_is_cut(
            keys in proptest::collection::vec((1..400_u64, 1..7_usize, 0..70_000_usize), 0..300)
        ) {
            let units = keys.iter().flat_map(|(number, forms, bytes)| {
                Category::ALL.iter().take(*forms).map(|form| unit(*number, Some(*form), &"x".repeat(*bytes))).collect::<Vec<_>>()
            });
            let document = document(units.collect());
            let parts = document.parts();
            prop_assert!(!parts.is_empty());
            let mut at = 0;
            for part in parts {
                prop_assert_eq!(part.start, at);
                at = part.end;
                let places = &document.by_key()[part];
                let numbers: std::collections::BTreeSet<u64> = places.iter().map(|place| document.number(*place)).collect();
                let bytes: usize = places.iter().map(|place| document.target_bytes(*place)).sum();
                prop_assert!(numbers.len() == 1 || (places.len() <= PART_UNITS && bytes <= PART_BYTES));
                if let (Some(last), Some(next)) = (places.last(), document.by_key().get(at)) {
                    prop_assert!(document.number(*last) < document.number(*next));
                }
            }
            prop_assert_eq!(at, document.units.len());
        }
    }
}
