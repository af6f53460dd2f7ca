//! Manifests as they are stored: pages of entries in the order of the archive, each behind its length. An archive may have
//! millions of entries, so nobody holds more than a page of them.

use quintet_storage::large::LargeValue;
use quintet_storage::{Failure, Read, decode_plain, encode_plain};

use super::model::Entry;
use crate::content::read_part;

/// About how long a page is, in bytes.
const PAGE_BYTES: usize = 128 << 10;
/// The length of a page stands in so many bytes.
const LENGTH_BYTES: u32 = 4;

/// Entries that become pages.
#[derive(Debug, Default)]
pub struct PageWriter {
    entries: Vec<Entry>,
    bytes: usize,
}

impl PageWriter {
    /// Adds an entry; a page, if there are enough for one.
    ///
    /// # Errors
    /// None that can happen with these types.
    pub fn add(&mut self, entry: Entry) -> Result<Option<Vec<u8>>, Failure> {
        self.bytes += entry.name.len() + size_of::<Entry>();
        self.entries.push(entry);
        if self.bytes < PAGE_BYTES { Ok(None) } else { self.page() }
    }

    /// A page of what is left, if anything is.
    ///
    /// # Errors
    /// As [`PageWriter::add`].
    pub fn page(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        self.bytes = 0;
        let page = encode_plain(&std::mem::take(&mut self.entries))?;
        let length = u32::try_from(page.len()).map_err(|_| Failure::TooLarge)?;
        Ok(Some([&length.to_le_bytes(), page.as_slice()].concat()))
    }
}

/// The page of a manifest that begins at an offset, and where the next one does; `None` at the end.
///
/// # Errors
/// The store's; [`Failure::Damaged`] if there is none.
pub fn read_page(read: &impl Read, manifest: &LargeValue, offset: u64) -> Result<Option<(Vec<Entry>, u64)>, Failure> {
    if offset >= manifest.size_bytes {
        return Ok(None);
    }
    let length = read_part(read, manifest, offset, LENGTH_BYTES)?;
    let length = length.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let begin = offset + u64::from(LENGTH_BYTES);
    let end = begin + u64::from(length);
    if end > manifest.size_bytes {
        return Err(Failure::Damaged("a manifest is shorter than its pages".to_owned()));
    }
    let entries = decode_plain(&read_part(read, manifest, begin, length)?)?;
    Ok(Some((entries, end)))
}
