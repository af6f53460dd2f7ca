//! The form of the archive (localization, Z2), which follows from its content alone: entries are stored as they are, their
//! names are UTF-8 and say so, each has mode 0644 and the first instant a zip can name, and none has an extra field.
//!
//! The form is PKWARE's APPNOTE. An archive has at most 2 GiB, so that sizes and offsets always fit where the first version
//! of the format has them; of Zip64 it needs the larger number of entries alone.

use super::model::Entry;

/// The largest archive, in bytes (localization, Z2).
pub const ARCHIVE_BYTES_MAX: u64 = 2 << 30;

const LOCAL_HEADER: u32 = 0x0403_4b50;
const DIRECTORY_HEADER: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;
/// What a reader must know: version 2.0; for Zip64, version 4.5.
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;
/// Modes of files are Unix's.
const UNIX: u16 = 3 << 8;
/// Names are UTF-8 (general purpose bit 11).
const UTF8: u16 = 1 << 11;
const STORED: u16 = 0;
/// 1980-01-01 00:00:00.
const TIME: u16 = 0;
const DATE: u16 = (1 << 5) | 1;
/// A regular file that everybody may read and its owner write.
const MODE: u32 = 0o100_644 << 16;
/// From so many entries on their number stands in a record of Zip64.
const ENTRIES_64: u64 = 0xffff;

const LOCAL_HEADER_BYTES: u64 = 30;
const DIRECTORY_HEADER_BYTES: u64 = 46;
const END_BYTES: u64 = 22;
const END_64_BYTES: u64 = 56 + 20;

/// Another entry would make the archive larger than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// How large an archive becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    bytes_max: u64,
    local_bytes: u64,
    directory_bytes: u64,
    entries: u64,
}

impl Layout {
    /// Of an archive of at most so many bytes, without entries yet.
    #[must_use]
    pub const fn new(bytes_max: u64) -> Layout {
        Layout { bytes_max, local_bytes: 0, directory_bytes: 0, entries: 0 }
    }

    /// Makes room for an entry.
    ///
    /// # Errors
    /// [`TooLarge`]
    pub fn add(&mut self, name: &str, size_bytes: u64) -> Result<(), TooLarge> {
        let name_bytes = name.len() as u64;
        let local_bytes = LOCAL_HEADER_BYTES + name_bytes;
        self.local_bytes = self.local_bytes.saturating_add(size_bytes).saturating_add(local_bytes);
        self.directory_bytes += DIRECTORY_HEADER_BYTES + name_bytes;
        self.entries += 1;
        if self.size_bytes() > self.bytes_max { Err(TooLarge) } else { Ok(()) }
    }

    /// How many bytes the archive has as it is.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        let end = if self.entries < ENTRIES_64 { END_BYTES } else { END_BYTES + END_64_BYTES };
        self.local_bytes.saturating_add(self.directory_bytes).saturating_add(end)
    }

    /// How many entries it has.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }
}

/// A field of four bytes; what does not fit is in no archive of a size that there is.
fn long(value: u64) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}

fn short(value: u64) -> [u8; 2] {
    u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes()
}

/// What stands before the bytes of an entry.
#[must_use]
pub fn local_header(entry: &Entry) -> Vec<u8> {
    let mut header = LOCAL_HEADER.to_le_bytes().to_vec();
    push_common(&mut header, entry);
    header.extend_from_slice(entry.name.as_bytes());
    header
}

/// What both headers of an entry say alike, up to the length of the extra field.
fn push_common(header: &mut Vec<u8>, entry: &Entry) {
    for field in [VERSION, UTF8, STORED, TIME, DATE] {
        header.extend_from_slice(&field.to_le_bytes());
    }
    header.extend_from_slice(&entry.crc32.to_le_bytes());
    // As it is stored and as it was.
    header.extend_from_slice(&long(entry.size_bytes));
    header.extend_from_slice(&long(entry.size_bytes));
    header.extend_from_slice(&short(entry.name.len() as u64));
    header.extend_from_slice(&short(0));
}

/// The directory that stands behind all entries, written one by one in their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Directory {
    local_bytes: u64,
    directory_bytes: u64,
    entries: u64,
}

impl Directory {
    /// What it says of the next entry.
    #[must_use]
    pub fn header(&mut self, entry: &Entry) -> Vec<u8> {
        let mut header = DIRECTORY_HEADER.to_le_bytes().to_vec();
        header.extend_from_slice(&(UNIX | VERSION).to_le_bytes());
        push_common(&mut header, entry);
        // No comment, the first disk, nothing said of the content.
        for field in [0_u16; 3] {
            header.extend_from_slice(&field.to_le_bytes());
        }
        header.extend_from_slice(&MODE.to_le_bytes());
        header.extend_from_slice(&long(self.local_bytes));
        header.extend_from_slice(entry.name.as_bytes());
        self.local_bytes += LOCAL_HEADER_BYTES + entry.name.len() as u64 + entry.size_bytes;
        self.directory_bytes += header.len() as u64;
        self.entries += 1;
        header
    }

    /// Its end, which is the archive's.
    #[must_use]
    pub fn end(&self) -> Vec<u8> {
        let mut end = if self.entries < ENTRIES_64 { Vec::new() } else { self.end_64() };
        end.extend_from_slice(&END.to_le_bytes());
        // The first disk, and the directory on it.
        end.extend_from_slice(&[0; 4]);
        end.extend_from_slice(&short(self.entries));
        end.extend_from_slice(&short(self.entries));
        end.extend_from_slice(&long(self.directory_bytes));
        end.extend_from_slice(&long(self.local_bytes));
        end.extend_from_slice(&short(0));
        end
    }

    fn end_64(&self) -> Vec<u8> {
        let mut end = END_64.to_le_bytes().to_vec();
        // How much of the record follows.
        end.extend_from_slice(&44_u64.to_le_bytes());
        end.extend_from_slice(&(UNIX | VERSION_64).to_le_bytes());
        end.extend_from_slice(&VERSION_64.to_le_bytes());
        end.extend_from_slice(&[0; 8]);
        for field in [self.entries, self.entries, self.directory_bytes, self.local_bytes] {
            end.extend_from_slice(&field.to_le_bytes());
        }
        end.extend_from_slice(&END_64_LOCATOR.to_le_bytes());
        end.extend_from_slice(&[0; 4]);
        end.extend_from_slice(&(self.local_bytes + self.directory_bytes).to_le_bytes());
        end.extend_from_slice(&1_u32.to_le_bytes());
        end
    }
}
