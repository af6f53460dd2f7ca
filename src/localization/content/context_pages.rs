//! Key context as it is stored: one large value for a file, in pages in the order of the digests of paths.
//!
//! A file may have 64 MiB of context, and the length of a translation is judged whenever one is written, so one key's
//! context is found by reading one page, which is kept for the next. By digests, since a few bytes of one tell the page:
//! paths may have 1,024 characters, all of them alike but for the last.

use std::sync::Arc;

use quintet_platform::secrets::digest;
use quintet_storage::large::LargeValue;
use quintet_storage::{Failure, Read, decode_plain, encode_plain};

use super::model::KeyContext;
use super::sealed::{self, Parts};
use super::tables::{ContextPageRow, KeyContextsRow};
use crate::shelf::{Name, Shelf};

/// About how long a page is, in bytes; one with entries of one digest alone may be longer.
const PAGE_BYTES: usize = 64 << 10;
/// About how many bytes an entry takes in memory besides its texts.
const ENTRY_BYTES: usize = 96;

/// Context as it is written: its bytes, and where its pages lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// All pages, one after another.
    pub bytes: Vec<u8>,
    /// Where they lie.
    pub pages: Vec<ContextPageRow>,
}

/// What a path is sorted into pages by: the beginning of its digest.
fn place_of(path: &str) -> u64 {
    let digest = digest(path.as_bytes());
    digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// Writes context, each path once.
///
/// # Errors
/// None that can happen with these types.
pub fn encode(all: Vec<KeyContext>) -> Result<Encoded, Failure> {
    let mut placed: Vec<(u64, KeyContext)> = all.into_iter().map(|one| (place_of(&one.path), one)).collect();
    placed.sort_by(|(one, a), (other, b)| (one, &a.path).cmp(&(other, &b.path)));
    let mut written = Encoded::default();
    let mut page: Vec<KeyContext> = Vec::new();
    let (mut first, mut last, mut bytes) = (0, None, 0);
    for (place, context) in placed {
        // All of one digest lie on one page.
        if bytes >= PAGE_BYTES && last != Some(place) {
            written.push(first, std::mem::take(&mut page))?;
            bytes = 0;
        }
        if page.is_empty() {
            first = place;
        }
        (last, bytes) = (Some(place), bytes + bytes_of(&context));
        page.push(context);
    }
    if !page.is_empty() {
        written.push(first, page)?;
    }
    Ok(written)
}

impl Encoded {
    fn push(&mut self, first: u64, mut page: Vec<KeyContext>) -> Result<(), Failure> {
        page.sort_by(|one, other| one.path.cmp(&other.path));
        let encoded = encode_plain(&page)?;
        let length = u32::try_from(encoded.len()).map_err(|_| Failure::TooLarge)?;
        self.pages.push(ContextPageRow { first, offset: self.bytes.len() as u64, length });
        self.bytes.extend_from_slice(&encoded);
        Ok(())
    }
}

fn bytes_of(context: &KeyContext) -> usize {
    context.path.len() + context.context.as_ref().map_or(0, String::len) + 16
}

/// Where the pages of a file's context lie. In version 1 of the row it was one page, in the order of paths.
fn pages_of(row: &KeyContextsRow) -> Result<Vec<ContextPageRow>, Failure> {
    if !row.pages.is_empty() {
        return Ok(row.pages.clone());
    }
    let length = u32::try_from(row.value.size_bytes).map_err(|_| Failure::TooLarge)?;
    Ok(vec![ContextPageRow { first: 0, offset: 0, length }])
}

/// Everything, in the order of paths.
///
/// # Errors
/// Only the store's.
pub fn read_all(read: &impl Read, row: &KeyContextsRow) -> Result<Vec<KeyContext>, Failure> {
    let bytes = sealed::read_all(read, &row.value)?;
    let mut all = Vec::new();
    for page in pages_of(row)? {
        let from = usize::try_from(page.offset).unwrap_or(usize::MAX);
        let page = bytes.get(from..from.saturating_add(page.length as usize));
        let page = page.ok_or_else(|| Failure::Damaged("key context is shorter than its pages".to_owned()))?;
        all.extend(decode_plain::<Vec<KeyContext>>(page)?);
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all)
}

/// What is told of the key of a path.
///
/// # Errors
/// Only the store's.
pub fn find(read: &impl Read, shelf: &Shelf, row: &KeyContextsRow, path: &str) -> Result<Option<KeyContext>, Failure> {
    let Some(page) = page_of(row, path)? else { return Ok(None) };
    let contexts = kept_page(read, shelf, &row.value, &page)?;
    let place = contexts.binary_search_by(|context| context.path.as_str().cmp(path));
    Ok(place.ok().and_then(|place| contexts.get(place)).cloned())
}

/// The page that has the path, if any has.
fn page_of(row: &KeyContextsRow, path: &str) -> Result<Option<ContextPageRow>, Failure> {
    if row.pages.is_empty() {
        return Ok(pages_of(row)?.pop());
    }
    let wanted = place_of(path);
    let behind = row.pages.partition_point(|page| page.first <= wanted);
    Ok(behind.checked_sub(1).and_then(|place| row.pages.get(place)).copied())
}

/// A page, from the shelf if it is there: its bytes are sealed with a number drawn once, so that their digest names them.
fn kept_page(
    read: &impl Read,
    shelf: &Shelf,
    value: &LargeValue,
    page: &ContextPageRow,
) -> Result<Arc<Vec<KeyContext>>, Failure> {
    let content = value.sha256.first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
    let name = Name { content, part: page.offset.to_string() };
    if let Some(kept) = shelf.get_page(&name) {
        return Ok(kept);
    }
    let contexts: Vec<KeyContext> = decode_plain(&Parts::of(read, value).read(page.offset, page.length)?)?;
    let bytes = page.length as usize + ENTRY_BYTES * contexts.len();
    let contexts = Arc::new(contexts);
    shelf.put_page(name, &contexts, bytes);
    Ok(contexts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(number: usize, chars: usize) -> KeyContext {
        let context = (chars > 0).then(|| "c".repeat(chars));
        KeyContext { path: format!("key.{number}"), class: None, context, min_length: None, max_length: Some(9) }
    }

    #[test]
    fn pages_hold_everything_once_and_where_it_is_looked_for() {
        let all: Vec<KeyContext> = (0..3_000).map(|number| context(number, number % 300)).collect();
        let written = encode(all.clone()).unwrap();
        assert!(written.pages.len() > 5, "{}", written.pages.len());
        assert!(written.pages.is_sorted_by_key(|page| page.first));
        let (mut end, mut read) = (0, Vec::new());
        for (number, page) in written.pages.iter().enumerate() {
            assert_eq!(page.offset, end);
            end += u64::from(page.length);
            let contexts: Vec<KeyContext> = decode_plain(&written.bytes[page.offset as usize..end as usize]).unwrap();
            assert!(contexts.is_sorted_by(|one, other| one.path < other.path));
            for context in &contexts {
                let place = place_of(&context.path);
                let next = written.pages.get(number + 1);
                assert!(page.first <= place && next.is_none_or(|next| place < next.first));
            }
            read.extend(contexts);
        }
        assert_eq!(end, written.bytes.len() as u64);
        read.sort_by_key(|context| context.path["key.".len()..].parse::<usize>().unwrap());
        assert_eq!(read, all);
        assert_eq!(encode(Vec::new()).unwrap(), Encoded::default());
    }
}
