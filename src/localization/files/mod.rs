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

use std::time::Instant;

/// The largest file that is read, in bytes (contract, "Limits").
pub const FILE_BYTES_MAX: usize = 52_428_800;
/// The deepest nesting of mappings and sequences; the root is the first level.
pub const DEPTH_MAX: usize = 64;
/// The most string values in one file; a plural counts once for each of its forms.
pub const UNITS_MAX: usize = 200_000;
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
    let _ = (kind, bytes, deadline);
    Err(ReaderRefusal { code: Code::Malformed, line: 1, column: 1 })
}

/// Whether a translation can be written into every kind of file: all text but the character U+0000, which ends a text
/// for many programs that read such files. Readers refuse it likewise, with [`Code::ValueUnrepresentable`].
pub fn is_representable(text: &str) -> bool {
    !text.contains('\0')
}
