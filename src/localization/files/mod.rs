//! Readers and writers of string files. Pure: bytes in, bytes out; no storage, no locale data, no clock but a deadline.
//!
//! A reader finds out which bytes of a file are the values of which keys, and what they say. An export copies the
//! file's bytes and replaces those ranges alone. So a file without edits comes back byte for byte by construction,
//! and an edit changes nothing beside it. Before an export is handed out it is read again, and every value compared
//! with what was meant.
//!
//! ```text
//! let document = files::read(Kind::Rails { root: "en" }, &bytes, deadline)?;      // or a ReaderRefusal
//! for unit in document.units() { unit.path(), unit.content() }                    // in file order
//! let edits = vec![Edit::Keep; document.units().len()];                           // one for each unit
//! let bytes = document.export(Some("de"), &edits, deadline)?;
//! ```
//!
//! Reading order: [`Kind`], [`Document`], [`ReaderRefusal`], `json`, `properties`, `yaml`, `export`.

mod budget;
mod export;
mod json;
mod model;
mod properties;
mod refusal;
mod yaml;

#[cfg(test)]
mod tests;

pub use export::{Edit, ExportRefusal};
pub use model::{Content, Document, Forms, Kind, Unit};
pub use refusal::{Code, ReaderRefusal};

use std::borrow::Cow;
use std::time::Instant;

use budget::Budget;
use refusal::Offence;

/// The largest file that is read, in bytes: 50 MiB, beyond which an upload is 413.
pub const FILE_BYTES_MAX: usize = 52_428_800;
/// The deepest nesting of mappings and sequences; the root is the first level.
pub const DEPTH_MAX: usize = 64;
/// The most string values in one file; a plural counts once for each of its forms.
pub const UNITS_MAX: usize = 200_000;
/// The most values of any kind in one file, those that are no strings included; more are refused as too many units.
/// It bounds what reading a file of 50 MiB takes in memory.
pub const VALUES_MAX: usize = 1_000_000;
/// The most bytes that the paths of all string values may have together; more are refused as too many units. A path
/// repeats the names of all that it lies in, so that a small file could have paths of a gigabyte.
pub const PATHS_BYTES_MAX: usize = 64 << 20;
/// The longest key path, in characters (Unicode scalar values).
pub const PATH_CHARACTERS_MAX: usize = 1_024;
/// How long reading may take: the deadline to pass to [`read`] is now and this.
pub const READING_SECONDS_MAX: u64 = 10;

/// Reads a file.
///
/// # Errors
/// The first offence in byte order, see [`Code`]. Two are judged only when the whole file is well-formed, since they
/// depend on all of it: two keys whose final paths are equal, and a byte sequence that is not the file's encoding
/// behind a place that is wrong in itself.
pub fn read<'b>(kind: Kind<'_>, bytes: &'b [u8], deadline: Instant) -> Result<Document<'b>, ReaderRefusal> {
    let document = scan(kind, bytes, &mut Budget::until(deadline)).and_then(|found| {
        let document = Document::new(kind, bytes, found);
        document.refuse_equal_paths()?;
        Ok(document)
    });
    document.map_err(|offence| offence.place_in(bytes))
}

/// Finds the string values of a file, before they are units.
fn scan(kind: Kind<'_>, bytes: &[u8], budget: &mut Budget) -> Result<model::Scan, Offence> {
    budget.size(bytes.len())?;
    budget.step(0)?;
    let marked = bytes.starts_with(model::BYTE_ORDER_MARK);
    let start = if marked { model::BYTE_ORDER_MARK.len() } else { 0 };
    let invalid = std::str::from_utf8(bytes).err().map(|error| error.valid_up_to());
    let found = match (kind, invalid) {
        // The marks of UTF-16, which is nothing a properties file may be in.
        (Kind::Properties, _) if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => {
            return Err(Offence::new(Code::EncodingInvalid, 0));
        }
        (Kind::Properties, Some(_)) if !marked => return properties::scan(bytes, start, true, budget),
        (Kind::Properties, _) => properties::scan(bytes, start, false, budget),
        (Kind::Json, _) => json::scan(&as_utf8(bytes), start, budget),
        (Kind::Rails { root }, _) => yaml::scan(&as_utf8(bytes), start, Some(root), budget),
        (Kind::Flat, _) => yaml::scan(&as_utf8(bytes), start, None, budget),
    };
    match (found, invalid) {
        (Err(offence), Some(at)) if offence.at < at => Err(offence),
        (_, Some(at)) => Err(Offence::new(Code::EncodingInvalid, at)),
        (found, None) => found,
    }
}

/// The bytes as text. Those that are no UTF-8 give way to as many other bytes, so that what comes before them can be
/// judged.
fn as_utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n('_', chunk.invalid().len()));
    }
    Cow::Owned(text)
}

/// Whether a translation can be written into every kind of file: all text but the character U+0000, which ends a text
/// for many programs that read such files. Readers refuse it likewise, with [`Code::ValueUnrepresentable`].
pub fn is_representable(text: &str) -> bool {
    !text.contains('\0')
}
