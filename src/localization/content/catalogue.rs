//! A file's keys: one large value for each version, in pages in the order of the keys' numbers.
//!
//! A file may have 200,000 keys, and every upload reads them all, so keys are not rows: a catalogue is written in chunks
//! that nobody sees, and published by the one small transaction that also writes the version, the audit event and the
//! answer. Nothing of an upload can be seen before, or half. One key is read by reading one page, which is kept for the
//! next. Ids stay, whatever comes and goes: a key that is gone stays in the catalogue as obsolete.

use std::collections::HashMap;
use std::sync::Arc;

use quintet_storage::{Failure, Read, decode_plain, encode_plain};

use super::model::{FileId, KeyEntry};
use super::sealed::Parts;
use super::tables::{CATALOGUES, CatalogueRow, PageRow};
use crate::model::TenantId;
use crate::shelf::{Name, Shelf};

/// About how long a page is, in bytes; one key that is longer has a page of its own.
const PAGE_BYTES: usize = 16 << 10;
/// The longest page that is kept to be used again, in memory: what is found in one is copied on threads that serve everybody.
const KEPT_BYTES_MAX: usize = 8 * PAGE_BYTES;
/// About how many bytes a key takes in memory besides its texts.
const ENTRY_BYTES: usize = 112;

/// A catalogue as it is written: its bytes, and where its pages lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// All pages, one after another.
    pub bytes: Vec<u8>,
    /// Where they lie.
    pub pages: Vec<PageRow>,
}

/// Writes keys, which are in the order of their numbers.
///
/// # Errors
/// None that can happen with these types.
pub fn encode(entries: &[KeyEntry]) -> Result<Encoded, Failure> {
    let mut written = Encoded::default();
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let mut bytes = 0;
        let count = rest.iter().take_while(|entry| {
            let own = entry.path.len() + entry.source.bytes() + 16;
            let fits = bytes == 0 || bytes < PAGE_BYTES && own < PAGE_BYTES;
            bytes += own;
            fits
        });
        let (page, behind) = rest.split_at(count.count());
        let encoded = encode_plain(&page.to_vec())?;
        let active = page.iter().filter(|entry| !entry.is_obsolete).count();
        written.pages.push(PageRow {
            first: first.number,
            offset: written.bytes.len() as u64,
            length: u32::try_from(encoded.len()).map_err(|_| Failure::TooLarge)?,
            active: Some(u32::try_from(active).map_err(|_| Failure::TooLarge)?),
        });
        written.bytes.extend_from_slice(&encoded);
        rest = behind;
    }
    Ok(written)
}

/// The catalogue of a file.
///
/// # Errors
/// Only the store's.
pub fn get_catalogue(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<CatalogueRow, Failure> {
    let row = read.get(&CATALOGUES, &(tenant_id, file_id))?;
    row.ok_or_else(|| Failure::Damaged(format!("file {} has no catalogue", file_id.0)))
}

/// How many keys a file has ever had, obsolete ones too, whose numbers go from 1 to that; `None`: there is no such file.
///
/// # Errors
/// Only the store's.
pub fn keys_ever(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<Option<u64>, Failure> {
    Ok(read.get(&CATALOGUES, &(tenant_id, file_id))?.map(|row| row.next_number.saturating_sub(1)))
}

/// Every key, obsolete ones too, in the order of numbers.
///
/// # Errors
/// The store's.
pub fn read_entries(read: &impl Read, row: &CatalogueRow) -> Result<Vec<KeyEntry>, Failure> {
    let mut parts = Parts::of(read, &row.value);
    let mut entries = Vec::new();
    for page in &row.pages {
        entries.extend(read_page(&mut parts, page)?);
    }
    Ok(entries)
}

fn read_page<R: Read>(parts: &mut Parts<'_, R>, page: &PageRow) -> Result<Vec<KeyEntry>, Failure> {
    decode_plain(&parts.read(page.offset, page.length)?)
}

/// One key.
///
/// # Errors
/// The store's.
pub fn find(read: &impl Read, shelf: &Shelf, row: &CatalogueRow, number: u64) -> Result<Option<KeyEntry>, Failure> {
    let behind = row.pages.partition_point(|page| page.first <= number);
    let Some(page) = behind.checked_sub(1).and_then(|place| row.pages.get(place)) else { return Ok(None) };
    let entries = kept_page(&mut Parts::of(read, &row.value), shelf, row, page)?;
    let place = entries.binary_search_by_key(&number, |entry| entry.number);
    Ok(place.ok().and_then(|place| entries.get(place)).cloned())
}

/// The paths of keys, by their numbers, which are in order; of those that there are.
///
/// # Errors
/// The store's.
pub fn key_paths(
    read: &impl Read,
    shelf: &Shelf,
    row: &CatalogueRow,
    numbers: &[u64],
) -> Result<HashMap<u64, String>, Failure> {
    let page_of = |number: &u64| row.pages.partition_point(|page| page.first <= *number).checked_sub(1);
    let mut parts = Parts::of(read, &row.value);
    let mut paths = HashMap::new();
    for wanted in numbers.chunk_by(|one, other| page_of(one) == page_of(other)) {
        let Some(page) = wanted.first().and_then(page_of).and_then(|place| row.pages.get(place)) else { continue };
        let entries = kept_page(&mut parts, shelf, row, page)?;
        for number in wanted {
            let place = entries.binary_search_by_key(number, |entry| entry.number).ok();
            if let Some(entry) = place.and_then(|place| entries.get(place)) {
                paths.insert(*number, entry.path.clone());
            }
        }
    }
    Ok(paths)
}

/// A page, from the shelf if it is there: a page has a few kilobytes, but the chunk that it is sealed in 256 KiB, and
/// whoever translates a file comes for one of its keys after the other. The chunks' digest names what they hold. A page with
/// a key that is very long is read again each time: sealed as it is, nobody reads it on a thread that serves everybody.
fn kept_page<R: Read>(
    parts: &mut Parts<'_, R>,
    shelf: &Shelf,
    row: &CatalogueRow,
    page: &PageRow,
) -> Result<Arc<Vec<KeyEntry>>, Failure> {
    let content = row.value.sha256.first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
    let name = Name { content, part: page.offset.to_string() };
    if let Some(kept) = shelf.get_page(&name) {
        return Ok(kept);
    }
    let entries = Arc::new(read_page(parts, page)?);
    let bytes = entries.iter().map(|entry| entry.path.len() + entry.source.memory_bytes() + ENTRY_BYTES).sum();
    if bytes <= KEPT_BYTES_MAX {
        shelf.put_page(name, &entries, bytes);
    }
    Ok(entries)
}

/// The pages of a catalogue, one behind the other.
pub struct Pages<'r, R> {
    row: &'r CatalogueRow,
    parts: Parts<'r, R>,
    next: usize,
}

/// Which keys a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The number of the first.
    pub first: u64,
    /// Above the number of the last.
    pub end: u64,
    /// Whether any of them is active, as far as anybody has counted.
    pub may_be_active: bool,
    page: PageRow,
}

impl<'r, R: Read> Pages<'r, R> {
    /// From the page on that may hold the key behind a number.
    pub fn after(read: &'r R, row: &'r CatalogueRow, number: u64) -> Pages<'r, R> {
        let next = row.pages.partition_point(|page| page.first <= number).saturating_sub(1);
        Pages { row, parts: Parts::of(read, &row.value), next }
    }

    /// Which keys are in the next page, which is not read yet.
    pub fn next_range(&mut self) -> Option<PageRange> {
        let page = *self.row.pages.get(self.next)?;
        self.next += 1;
        let end = self.row.pages.get(self.next).map_or(self.row.next_number, |behind| behind.first);
        Some(PageRange { first: page.first, end, may_be_active: page.active != Some(0), page })
    }

    /// The keys of a page, obsolete ones too.
    ///
    /// # Errors
    /// The store's.
    pub fn read(&mut self, range: &PageRange) -> Result<Vec<KeyEntry>, Failure> {
        read_page(&mut self.parts, &range.page)
    }

    /// How many bytes have been opened.
    #[must_use]
    pub fn opened_bytes(&self) -> usize {
        self.parts.opened_bytes
    }
}

/// What a list may still take, and what it may still look at.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// So many keys.
    pub keys: usize,
    /// About so many bytes of source texts; the last key may go beyond.
    pub bytes: usize,
    /// About so many bytes of catalogues; the last page may go beyond.
    pub looked_bytes: usize,
}

/// Active keys with numbers above `after`, as far as the allowance reaches: behind which number to go on, or `None` at
/// the end. Pages without active keys are passed over unread.
///
/// # Errors
/// The store's.
pub fn active_after(
    read: &impl Read,
    row: &CatalogueRow,
    after: u64,
    allowance: &mut Allowance,
    mut take: impl FnMut(KeyEntry),
) -> Result<Option<u64>, Failure> {
    let begin = row.pages.partition_point(|page| page.first <= after).saturating_sub(1);
    let mut parts = Parts::of(read, &row.value);
    let mut behind = after;
    for page in row.pages.iter().skip(begin).filter(|page| page.active != Some(0)) {
        if allowance.looked_bytes == 0 {
            return Ok(Some(behind));
        }
        let opened = parts.opened_bytes;
        let entries = read_page(&mut parts, page)?;
        allowance.looked_bytes = allowance.looked_bytes.saturating_sub(parts.opened_bytes - opened);
        for entry in entries.into_iter().filter(|entry| entry.number > after) {
            let number = entry.number;
            if !entry.is_obsolete {
                if allowance.keys == 0 || allowance.bytes == 0 {
                    return Ok(Some(behind));
                }
                allowance.keys -= 1;
                allowance.bytes = allowance.bytes.saturating_sub(entry.source.bytes());
                take(entry);
            }
            behind = number;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::model::Source;

    fn entry(number: u64, text: &str) -> KeyEntry {
        let source = Source::Text(text.to_owned());
        KeyEntry {
            number,
            path: format!("key.{number}"),
            source,
            source_version: 1,
            is_obsolete: number.is_multiple_of(3),
        }
    }

    #[test]
    fn pages_hold_everything_once_and_in_order() {
        let entries: Vec<KeyEntry> = (1..2000).map(|number| entry(number, &"x".repeat(number as usize % 90))).collect();
        let written = encode(&entries).unwrap();
        assert!(written.pages.len() > 5, "{}", written.pages.len());
        let mut read = Vec::new();
        let mut end = 0;
        for page in &written.pages {
            assert_eq!(page.offset, end);
            end += u64::from(page.length);
            let bytes = &written.bytes[page.offset as usize..end as usize];
            let page_entries: Vec<KeyEntry> = decode_plain(bytes).unwrap();
            assert_eq!(page.first, page_entries[0].number);
            let active = page_entries.iter().filter(|entry| !entry.is_obsolete).count();
            assert_eq!(page.active, Some(active as u32));
            read.extend(page_entries);
        }
        assert_eq!(end, written.bytes.len() as u64);
        assert_eq!(read, entries);
        // A long key has a page of its own, whatever stands before it.
        let long = "y".repeat(1 << 20);
        for texts in [vec![&*long, "z"], vec!["x", &long], vec!["x", "x", &long, &long, "z"]] {
            let entries: Vec<KeyEntry> = (1..).zip(&texts).map(|(number, text)| entry(number, text)).collect();
            let expected: Vec<u64> =
                (1..=texts.len() as u64).filter(|number| *number != 2 || texts.len() < 5).collect();
            assert_eq!(encode(&entries).unwrap().pages.iter().map(|page| page.first).collect::<Vec<_>>(), expected);
        }
        assert_eq!(encode(&[]).unwrap(), Encoded::default());
    }
}
