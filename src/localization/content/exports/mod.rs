//! Exports: the latest version of a file, rebuilt in a locale.
//!
//! [`Material`] is everything an export is made from, read in one state of the store; [`Material::file`] and
//! [`Material::metadata`] make of it what is handed out. Its *revision* is the file's version and every change of its
//! translations in the locale, outdatings among them.
//!
//! Reading order: `material` · `choice` · `file` · `metadata` · `note`.

mod choice;
mod file;
mod material;
mod metadata;
mod note;

pub use choice::{Fallback, Wish};
pub use material::{Material, TRANSLATIONS_BYTES_MAX, check_revision, etag, gather};
pub use metadata::MetadataEntry;
pub use note::{NoteExport, note_export};
