//! A file's keys: one large value for each version, in pages in the order of the keys' numbers.
//!
//! A key's id is made of its file's prefix (64 bits, of which 4 are a UUID's version) and its number in the file (62
//! bits), so that ids are in the order of files and numbers, and say in which page a key lies.

use bincode::{Decode, Encode};
use quintet_platform::secrets::{digest, digest_parts};
use quintet_storage::large::{self, LargeValue};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read, Uuid, decode_plain, encode_plain};

use crate::formats::Content;
use crate::language::Category;
use crate::model::{FileId, FileVersion, KeyId};
use crate::tables::{CatalogueRow, PageRow};

/// About how long a page is, in bytes; one key that is longer has a page of its own.
const PAGE_BYTES: usize = 16 << 10;
/// The greatest number of a key.
const NUMBER_MAX: u64 = (1 << 62) - 1;

/// A key of a file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyEntry {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its path.
    pub path: String,
    /// What its source says.
    pub source: Source,
    /// The version of the file in which that last changed.
    pub source_version: FileVersion,
    /// Whether it is not in the latest version.
    pub is_obsolete: bool,
}

/// What a key's source says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Source {
    /// One text.
    Text(String),
    /// The forms of a plural, in CLDR's order, by their places in it.
    Forms(Vec<(u8, String)>),
}

/// A category by its place in CLDR's order.
#[must_use]
pub fn category_at(place: u8) -> Category {
    Category::ALL.get(usize::from(place)).copied().unwrap_or(Category::Other)
}

/// A category's place in CLDR's order.
#[must_use]
pub fn place_of(category: Category) -> u8 {
    let place = Category::ALL.iter().position(|known| *known == category);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(5)
}

impl Source {
    /// What a unit of a file says.
    #[must_use]
    pub fn of(content: &Content) -> Source {
        match content {
            Content::Text(text) => Source::Text(text.clone()),
            Content::Plural(forms) => {
                Source::Forms(forms.iter().map(|(category, text)| (place_of(*category), text.clone())).collect())
            }
        }
    }

    /// Whether it is a plural.
    #[must_use]
    pub const fn is_plural(&self) -> bool {
        matches!(self, Source::Forms(_))
    }

    /// SHA-256 of a text; of a plural, over its forms and their categories.
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        match self {
            Source::Text(text) => digest(text.as_bytes()),
            Source::Forms(forms) => {
                let parts =
                    forms.iter().flat_map(|(place, text)| [category_at(*place).name().as_bytes(), text.as_bytes()]);
                digest_parts(&parts.collect::<Vec<_>>())
            }
        }
    }

    /// The text that a form of a translation is made from: the source's own form of the category, else `other`.
    #[must_use]
    pub fn form(&self, category: Category) -> &str {
        match self {
            Source::Text(text) => text,
            Source::Forms(forms) => {
                let of = |wanted: u8| forms.iter().find(|(place, _)| *place == wanted);
                of(place_of(category)).or_else(|| of(place_of(Category::Other))).map_or("", |(_, text)| text.as_str())
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Source::Text(text) => text.len(),
            Source::Forms(forms) => forms.iter().map(|(_, text)| text.len() + 8).sum(),
        }
    }
}

/// What a file's key ids begin with: out of its id, as random as can be, with a UUID's version 8 in its place.
#[must_use]
pub fn key_prefix(file_id: FileId) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest_parts(&[b"quintet key prefix", file_id.0.as_bytes()]);
    (u64::from_be_bytes([a, b, c, d, e, f, g, h]) & !0xF000) | 0x8000
}

/// The id of a key.
#[must_use]
pub fn key_id(prefix: u64, number: u64) -> KeyId {
    KeyId(Uuid::from_u64_pair(prefix, (number & NUMBER_MAX) | (0b10 << 62)))
}

/// Prefix and number of an id, if it can be a key's.
#[must_use]
pub fn split_key_id(key_id: KeyId) -> Option<(u64, u64)> {
    let (prefix, rest) = key_id.0.as_u64_pair();
    if prefix & 0xF000 == 0x8000 && rest >> 62 == 0b10 { Some((prefix, rest & NUMBER_MAX)) } else { None }
}

/// A catalogue as it is written: its bytes, and where its pages lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// All pages, one after another.
    pub bytes: Vec<u8>,
    /// Where they lie.
    pub pages: Vec<PageRow>,
}

/// Writes keys, which are in the order of their numbers.
///
/// # Errors
/// None that can happen with these types.
pub fn write(entries: &[KeyEntry]) -> Result<Written, Failure> {
    let mut written = Written::default();
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let mut bytes = 0;
        let count = rest.iter().take_while(|entry| {
            let fits = bytes < PAGE_BYTES;
            bytes += entry.path.len() + entry.source.bytes() + 16;
            fits
        });
        let (page, behind) = rest.split_at(count.count());
        let encoded = encode_plain(&page.to_vec())?;
        written.pages.push(PageRow {
            first: first.number,
            offset: written.bytes.len() as u64,
            length: u32::try_from(encoded.len()).map_err(|_| Failure::TooLarge)?,
        });
        written.bytes.extend_from_slice(&encoded);
        rest = behind;
    }
    Ok(written)
}

/// What an owner without its data key amounts to: whoever still has a key of an erased tenant is turned away before.
pub(crate) fn erased(abort: Abort<Erased>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    }
}

/// All bytes of a large value.
///
/// # Errors
/// The store's; [`Failure::Io`] if the tenant has been erased.
pub fn read_all(read: &impl Read, value: &LargeValue) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(usize::try_from(value.size_bytes).unwrap_or(0));
    let mut index = 0;
    while let Some(chunk) = large::read_chunk(read, value, index).map_err(erased)? {
        bytes.extend_from_slice(&chunk);
        index += 1;
    }
    Ok(bytes)
}

/// Some bytes of a large value.
fn read_range(read: &impl Read, value: &LargeValue, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
    let chunk_bytes = large::CHUNK_BYTES as u64;
    let (mut at, end) = (offset, offset + u64::from(length));
    let mut bytes = Vec::with_capacity(length as usize);
    while at < end {
        let index = u32::try_from(at / chunk_bytes).map_err(|_| Failure::TooLarge)?;
        let chunk = large::read_chunk(read, value, index).map_err(erased)?;
        let chunk = chunk.ok_or_else(|| Failure::Damaged("a catalogue is shorter than its pages".to_owned()))?;
        let from = usize::try_from(at % chunk_bytes).unwrap_or(0);
        let until = usize::try_from((end - at).min(chunk_bytes)).unwrap_or(0).saturating_add(from).min(chunk.len());
        let part = chunk.get(from..until).filter(|part| !part.is_empty());
        let part = part.ok_or_else(|| Failure::Damaged("a catalogue is shorter than its pages".to_owned()))?;
        bytes.extend_from_slice(part);
        at += part.len() as u64;
    }
    Ok(bytes)
}

/// The keys of one page.
///
/// # Errors
/// The store's.
pub fn read_page(read: &impl Read, row: &CatalogueRow, page: &PageRow) -> Result<Vec<KeyEntry>, Failure> {
    decode_plain(&read_range(read, &row.value, page.offset, page.length)?)
}

/// Every key, obsolete ones too.
///
/// # Errors
/// The store's.
pub fn read_entries(read: &impl Read, row: &CatalogueRow) -> Result<Vec<KeyEntry>, Failure> {
    let bytes = read_all(read, &row.value)?;
    let mut entries = Vec::new();
    for page in &row.pages {
        let from = usize::try_from(page.offset).unwrap_or(usize::MAX);
        let page = bytes.get(from..from.saturating_add(page.length as usize));
        let page = page.ok_or_else(|| Failure::Damaged("a catalogue is shorter than its pages".to_owned()))?;
        entries.extend(decode_plain::<Vec<KeyEntry>>(page)?);
    }
    Ok(entries)
}

/// One key.
///
/// # Errors
/// The store's.
pub fn find(read: &impl Read, row: &CatalogueRow, number: u64) -> Result<Option<KeyEntry>, Failure> {
    let behind = row.pages.partition_point(|page| page.first <= number);
    let Some(page) = behind.checked_sub(1).and_then(|place| row.pages.get(place)) else { return Ok(None) };
    Ok(read_page(read, row, page)?.into_iter().find(|entry| entry.number == number))
}

/// What a page of a list may still take.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// So many keys.
    pub keys: usize,
    /// About so many bytes of source texts; the last key may go beyond.
    pub bytes: usize,
}

/// Active keys with numbers above `after`, as far as the allowance reaches. Whether it was enough for all of them.
///
/// # Errors
/// The store's.
pub fn active_after(
    read: &impl Read,
    row: &CatalogueRow,
    after: u64,
    allowance: &mut Allowance,
    mut take: impl FnMut(KeyEntry),
) -> Result<bool, Failure> {
    let begin = row.pages.partition_point(|page| page.first <= after).saturating_sub(1);
    for page in row.pages.iter().skip(begin) {
        let entries = read_page(read, row, page)?.into_iter();
        for entry in entries.filter(|entry| entry.number > after && !entry.is_obsolete) {
            if allowance.keys == 0 || allowance.bytes == 0 {
                return Ok(false);
            }
            allowance.keys -= 1;
            allowance.bytes = allowance.bytes.saturating_sub(entry.source.bytes());
            take(entry);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, text: &str) -> KeyEntry {
        let source = Source::Text(text.to_owned());
        KeyEntry { number, path: format!("key.{number}"), source, source_version: 1, is_obsolete: false }
    }

    #[test]
    fn ids_are_uuids_in_the_order_of_prefix_and_number() {
        let prefix = key_prefix(FileId(Uuid::from_u128(7)));
        let (one, two) = (key_id(prefix, 1), key_id(prefix, 2));
        assert!(one < two);
        assert_eq!(one.0.get_version_num(), 8);
        assert_eq!(one.0.as_bytes()[8] >> 6, 0b10);
        assert_eq!(split_key_id(two), Some((prefix, 2)));
        assert_eq!(split_key_id(KeyId(Uuid::nil())), None);
        assert_ne!(prefix, key_prefix(FileId(Uuid::from_u128(8))));
    }

    #[test]
    fn pages_hold_everything_once_and_in_order() {
        let entries: Vec<KeyEntry> = (1..2000).map(|number| entry(number, &"x".repeat(number as usize % 90))).collect();
        let written = write(&entries).unwrap();
        assert!(written.pages.len() > 5, "{}", written.pages.len());
        let mut read = Vec::new();
        let mut end = 0;
        for page in &written.pages {
            assert_eq!(page.offset, end);
            end += u64::from(page.length);
            let bytes = &written.bytes[page.offset as usize..end as usize];
            let page_entries: Vec<KeyEntry> = decode_plain(bytes).unwrap();
            assert_eq!(page.first, page_entries[0].number);
            read.extend(page_entries);
        }
        assert_eq!(end, written.bytes.len() as u64);
        assert_eq!(read, entries);
        let large = [entry(1, &"y".repeat(1 << 20)), entry(2, "z")];
        assert_eq!(write(&large).unwrap().pages.len(), 2);
        assert_eq!(write(&[]).unwrap(), Written::default());
    }

    #[test]
    fn forms_are_found_or_fall_back() {
        let source = Source::Forms(vec![(1, "one".into()), (5, "other".into())]);
        assert_eq!(source.form(Category::One), "one");
        assert_eq!(source.form(Category::Few), "other");
        assert_ne!(source.sha256(), Source::Text("oneother".into()).sha256());
    }
}
