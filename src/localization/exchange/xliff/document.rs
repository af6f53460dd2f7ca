//! A document that came in: what its units want of which keys.

use std::io::Read;
use std::ops::Range;

use quintet_platform::ids::parse_uuid;
use quintet_platform::secrets::digest;

use crate::content::{KeyId, TEXT_BYTES_MAX, key_id, split_key_id};
use crate::exchange::texts::{TextPlace, Texts};
use crate::formats::xliff::{Said, Unit, UnitReader};
use crate::formats::{FILE_BYTES_MAX, ReadError};
use crate::language::Category;

/// The most units that are written in one transaction, and the most bytes of their texts, but for a single key's. The
/// contract's design allows five hundred; fewer let others in between.
const PART_UNITS: usize = 100;
/// See [`PART_UNITS`].
const PART_BYTES: usize = 1 << 20;
/// How much of the id of a unit that is no key is told again, in characters.
pub const ID_CHARS_MAX: usize = 100;
/// What the texts of a document may take, in bytes: as much as the largest document. What is written in UTF-8 stays below
/// that; other encodings and codes that are named over and over could make more of it.
const TEXTS_BYTES_MAX: usize = FILE_BYTES_MAX;
/// How many bytes of texts of codes a document's targets may name, at least: those of one unit of the longest.
const CODES_BYTES_MIN: usize = TEXT_BYTES_MAX;
/// How many times its own size they may be: a long code that is named a few times in each unit takes three times as much.
const CODES_RATIO: usize = 4;
/// What units take at most, with what it takes to sort them.
const UNITS_BYTES_MAX: usize = 16 << 20;
/// How many times a document's size they take, of a small one: the shortest unit has seven bytes.
const UNITS_RATIO: usize = 16;

/// What a document of so many bytes may take in memory.
pub fn bytes_max(document_bytes: usize) -> usize {
    // A character of two bytes takes three in UTF-8.
    let texts = document_bytes.saturating_mul(3) / 2 + codes_bytes(document_bytes);
    texts.min(TEXTS_BYTES_MAX) + document_bytes.saturating_mul(UNITS_RATIO).min(UNITS_BYTES_MAX)
}

/// How many bytes of texts of codes the targets of a document of so many bytes may name.
pub fn codes_bytes(document_bytes: usize) -> usize {
    document_bytes.saturating_mul(CODES_RATIO).clamp(CODES_BYTES_MIN, TEXTS_BYTES_MAX)
}

/// What came in.
#[derive(Debug, Default)]
pub struct Document {
    /// Its units, in its own order.
    pub units: Vec<UnitWish>,
    /// The targets of what may be keys of the file, and what other units are named.
    texts: Texts,
    /// Which units name keys of the file, by the keys' numbers, those of one key in the document's order.
    by_key: Vec<u32>,
}

/// What a unit wants. There are up to 200,000.
#[derive(Clone, Debug)]
pub struct UnitWish {
    /// The number of what may be a key of the file; 0: it is anything else.
    number: u32,
    /// Which form of it.
    pub category: Option<Category>,
    has_target: bool,
    /// Whether its target has a code without text.
    has_bare_code: bool,
    /// The half of the SHA-256 of its source; none if that has a code without text.
    source: Option<SourceDigest>,
    /// Its target; of anything else its id, cut where it is long.
    text: TextPlace,
}

/// Half of a SHA-256: enough to tell whether two texts are one, which nobody but the document's own author could mix up.
pub type SourceDigest = [u8; 16];

/// What of a source is compared.
pub fn source_digest(source: &str) -> SourceDigest {
    digest(source.as_bytes()).first_chunk().copied().unwrap_or_default()
}

/// A target of a document.
#[derive(Clone, Copy, Debug)]
pub struct Target<'d> {
    /// Its text; what is too long for a translation is cut, and is too long still.
    pub text: &'d str,
    /// Whether it has a code without text.
    pub has_bare_code: bool,
}

/// What a unit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'d> {
    /// What may be a key of the file, by its number, and the form of it.
    Key(u64, Option<Category>),
    /// Anything else; the id, cut where it is long.
    Other(&'d str),
}

impl UnitWish {
    /// Whether its source is that one.
    pub fn is_of(&self, source: SourceDigest) -> bool {
        self.source == Some(source)
    }
}

impl Document {
    /// What a unit is of.
    pub fn named(&self, unit: &UnitWish) -> Named<'_> {
        match unit.number {
            0 => Named::Other(self.texts.get(unit.text)),
            number => Named::Key(u64::from(number), unit.category),
        }
    }

    /// A unit's target, if it has one.
    pub fn target(&self, unit: &UnitWish) -> Option<Target<'_>> {
        unit.has_target.then(|| Target { text: self.texts.get(unit.text), has_bare_code: unit.has_bare_code })
    }

    /// What it takes, about.
    pub fn bytes(&self) -> usize {
        self.units.capacity() * size_of::<UnitWish>() + self.by_key.capacity() * size_of::<u32>() + self.texts.bytes()
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
        self.unit(place).map_or(0, |unit| u64::from(unit.number))
    }

    /// The part of the units of keys that begins with this one, which is some key's first: one unit at least, if there is any.
    pub fn part_from(&self, begin: usize) -> Range<usize> {
        let (mut end, mut bytes) = (begin, 0);
        let left = self.by_key.get(begin..).unwrap_or_default();
        for key in left.chunk_by(|one, other| self.number(*one) == self.number(*other)) {
            let more: usize = key.iter().map(|place| self.target_bytes(*place)).sum();
            if end > begin && (end + key.len() - begin > PART_UNITS || bytes + more > PART_BYTES) {
                break;
            }
            end += key.len();
            bytes += more;
        }
        begin..end
    }

    /// The same with its units by the numbers of their keys, too.
    fn sorted(mut self) -> Document {
        let mut by_key = std::mem::take(&mut self.by_key);
        by_key.sort_by_key(|place| self.number(*place));
        self.by_key = by_key;
        self
    }

    fn target_bytes(&self, place: u32) -> usize {
        self.unit(place).filter(|unit| unit.has_target).map_or(0, |unit| unit.text.len())
    }

    fn push(&mut self, unit: Unit, key_prefix: u64) {
        let Unit { id, source, target } = unit;
        let Some((number, category)) = named_key(&id, key_prefix) else {
            // Nobody asks what else it says.
            let end = id.char_indices().nth(ID_CHARS_MAX).map_or(id.len(), |(end, _)| end);
            let text = self.texts.push(id.get(..end).unwrap_or_default());
            let none =
                UnitWish { number: 0, category: None, has_target: false, has_bare_code: false, source: None, text };
            self.units.push(none);
            return;
        };
        // Tools write an empty target where there is none.
        let target = target.filter(|target| *target != Said::default() || source.text.is_empty());
        if let Ok(place) = u32::try_from(self.units.len()) {
            self.by_key.push(place);
        }
        let text = target.as_ref().map_or("", |target| target.text.as_str());
        let end = text.floor_char_boundary(TEXT_BYTES_MAX + 4);
        self.units.push(UnitWish {
            number,
            category,
            has_target: target.is_some(),
            has_bare_code: target.as_ref().is_some_and(|target| target.has_bare_code),
            source: (!source.has_bare_code).then(|| source_digest(&source.text)),
            text: self.texts.push(text.get(..end).unwrap_or_default()),
        });
    }
}

/// The key that an id names in a file, and the form of it: `<key id>`, or `<key id>.<category>` (localization, X3).
fn named_key(id: &str, key_prefix: u64) -> Option<(u32, Option<Category>)> {
    let (key, category) = match id.split_once('.') {
        None => (id, None),
        Some((key, name)) => (key, Some(Category::from_name(name)?)),
    };
    let uuid = parse_uuid(key).filter(|uuid| uuid.to_string() == key)?;
    let (_, number) = split_key_id(KeyId(uuid)).filter(|(prefix, _)| *prefix == key_prefix)?;
    // No file has ever had more keys than that.
    let number = u32::try_from(number).ok()?;
    (number > 0).then_some((number, category))
}

impl Named<'_> {
    /// The unit's id.
    pub fn id(&self, key_prefix: u64) -> String {
        match self {
            Named::Key(number, None) => key_id(key_prefix, *number).0.to_string(),
            Named::Key(number, Some(category)) => format!("{}.{}", key_id(key_prefix, *number).0, category.name()),
            Named::Other(id) => (*id).to_owned(),
        }
    }
}

/// Reads the rest of a document. `key_prefix` is what the ids of the file's keys begin with.
///
/// # Errors
/// As [`UnitReader::next_unit`]; more texts than a document can have are told as too many units.
pub fn read_document<R: Read>(mut reader: UnitReader<R>, key_prefix: u64) -> Result<Document, ReadError> {
    let mut document = Document::default();
    while let Some(unit) = reader.next_unit()? {
        document.push(unit, key_prefix);
        if document.texts.bytes() > TEXTS_BYTES_MAX {
            return Err(reader.refuses_too_many());
        }
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
        for (number, category) in [(7, None), (8, Some(Category::Few)), (u32::MAX, None)] {
            let id = Named::Key(u64::from(number), category).id(PREFIX);
            assert_eq!(named_key(&id, PREFIX), Some((number, category)));
        }
        let id = Named::Key(7, None).id(PREFIX);
        let (none, beyond) = (Named::Key(0, None).id(PREFIX), Named::Key(1 << 40, None).id(PREFIX));
        for other in [
            id.to_uppercase(),
            format!("{id}.several"),
            format!("{id}."),
            format!("{{{id}}}"),
            id.replace('-', ""),
            none,
            beyond,
        ] {
            assert_eq!(named_key(&other, PREFIX), None);
        }
        assert_eq!(named_key(&id, PREFIX + 1), None, "a key of another file");
        let mut long = unit(1, None, "x");
        long.id = "é".repeat(300);
        let document = document(vec![unit(7, Some(Category::Few), "x"), long]);
        assert_eq!(document.named(&document.units[0]), Named::Key(7, Some(Category::Few)));
        assert_eq!(document.named(&document.units[1]), Named::Other(&"é".repeat(100)));
    }

    #[test]
    fn long_targets_are_cut_and_stay_too_long() {
        let document = document(vec![unit(1, None, &"é".repeat(40_000))]);
        let target = document.target(&document.units[0]).unwrap();
        assert!((TEXT_BYTES_MAX + 1..=TEXT_BYTES_MAX + 4).contains(&target.text.len()));
    }

    #[test]
    fn an_empty_target_beside_a_source_is_none() {
        let mut empty = unit(2, None, "");
        empty.source.text.clear();
        let document = document(vec![unit(1, None, ""), empty]);
        let has_target = |place: usize| document.target(&document.units[place]).is_some();
        assert!(!has_target(0) && has_target(1));
    }

    fn read(text: &[u8]) -> Result<Document, ReadError> {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(600);
        let mut reader = UnitReader::begin(text, deadline)?;
        reader.limit_codes(codes_bytes(text.len()));
        read_document(reader, PREFIX)
    }

    const V2: &str =
        "<xliff version='2.1' xmlns='urn:oasis:names:tc:xliff:document:2.0' srcLang='en' trgLang='de'><file id='f'>";

    /// A unit whose target names a text of a kilobyte so many times.
    fn coded(number: u64, times: usize) -> String {
        let (id, text) = (Named::Key(number, None).id(PREFIX), "y".repeat(1_100));
        format!(
            "<unit id='{id}'><originalData><data id='d'>{text}</data></originalData><segment><source>x</source><target>{}</target></segment></unit>",
            "<ph id='1' dataRef='d'/>".repeat(times)
        )
    }

    #[test]
    fn a_document_takes_no_more_than_it_is_thought_to() {
        let utf16 = |text: &str| {
            [0xfeff_u16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect::<Vec<u8>>()
        };
        let (unit, end) = (
            |id: &str, target: &str| {
                format!("<trans-unit id='{id}'><source>x</source><target>{target}</target></trans-unit>")
            },
            "</body></file></xliff>",
        );
        let head = "<xliff version='1.2'><file source-language='en' target-language='ja'><body>";
        let id = |number: u64| Named::Key(number, None).id(PREFIX);
        let many: String = (1..=2_000).map(|number| unit(&id(number), &"漢".repeat(1_000))).collect();
        let small = "<trans-unit id='a'/>".repeat(20_000);
        let named: String = (1..=2_000).map(|number| unit(&format!("{number}{}", "é".repeat(200)), "")).collect();
        let coded: String = (1..=200).map(|number| coded(number, 2)).collect();
        let documents: Vec<Vec<u8>> = vec![
            utf16(&format!("{head}{many}{end}")),
            format!("{head}{many}{end}").into(),
            format!("{head}{small}{end}").into(),
            format!("{head}{named}{end}").into(),
            format!("{V2}{coded}</file></xliff>").into(),
        ];
        for document in documents {
            let read = read(&document).unwrap();
            // The last block of texts has an end.
            let most = bytes_max(document.len()) + (256 << 10);
            assert!(read.bytes() <= most, "{} of at most {most}", read.bytes());
        }
        assert_eq!(bytes_max(FILE_BYTES_MAX), TEXTS_BYTES_MAX + UNITS_BYTES_MAX);
    }

    #[test]
    fn texts_that_are_named_over_and_over_are_refused() {
        let refused = |document: &str| match read(document.as_bytes()).unwrap_err() {
            ReadError::Refused(refusal) => refusal.code.as_str(),
            ReadError::Failed(error) => panic!("{error}"),
        };
        assert!(read(format!("{V2}{}</file></xliff>", coded(1, 50)).as_bytes()).is_ok(), "a single one may");
        // Tags with many attributes, ten of them in each text, as tools write them.
        let tag = format!(
            "<unit id='ID'><originalData><data id='d'>{}</data></originalData><segment><source>TEXT</source>\
             <target>TEXT</target></segment></unit>",
            "y".repeat(300)
        )
        .replace("TEXT", &"<ph id='1' dataRef='d'/>".repeat(10));
        let tags: String = (1..=400).map(|number| tag.replace("ID", &Named::Key(number, None).id(PREFIX))).collect();
        let document = read(format!("{V2}{tags}</file></xliff>").as_bytes()).unwrap();
        assert_eq!(document.target(&document.units[399]).unwrap().text.len(), 3_000);
        let coded: String = (1..=100).map(|number| coded(number, 57)).collect();
        assert_eq!(refused(&format!("{V2}{coded}</file></xliff>")), "unsupported_construct");
    }

    #[test]
    fn more_texts_than_the_largest_document_has_are_too_many() {
        let head = "<xliff version='1.2'><file source-language='en' target-language='ja'><body>";
        let target = "漢".repeat(20_000);
        let text: String = std::iter::once(head.to_owned())
            .chain((1..=1_000).map(|number| {
                let id = Named::Key(number, None).id(PREFIX);
                format!("<trans-unit id='{id}'><source>x</source><target>{target}</target></trans-unit>")
            }))
            .chain(["</body></file></xliff>".to_owned()])
            .collect();
        let utf16: Vec<u8> = [0xfeff_u16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        assert!(utf16.len() < FILE_BYTES_MAX);
        assert!(matches!(read(&utf16), Err(ReadError::Refused(refusal)) if refusal.code.as_str() == "too_many_units"));
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
            prop_assert!(!document.part_from(0).is_empty() || keys.is_empty());
            let mut at = 0;
            while at < document.units.len() {
                let part = document.part_from(at);
                prop_assert!(part.start == at && part.end > at);
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
            prop_assert_eq!(document.part_from(at), at..at);
        }
    }
}
