//! Exports: the latest version of a file, rebuilt in a locale.
//!
//! [`Base`] is what all exports of a file are made from, [`Material`] what belongs to one locale besides; both are read in
//! one state of the store. [`Material::file`] and [`Material::metadata`] make of it what is handed out. Its *revision* is the file's version and every change of its
//! translations in the locale, outdatings among them.
//!
//! Reading order: `material` · `choice` · `file` · `metadata` · `note`.

mod choice;
mod file;
mod material;
mod metadata;
mod note;

pub use choice::{Fallback, Wish};
pub use material::{Base, Material, TRANSLATIONS_BYTES_MAX, check_revision, etag};
pub use metadata::MetadataEntry;
pub use note::{NoteExport, note_export};
