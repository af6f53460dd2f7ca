//! Content: string files, their keys, and translations.
//!
//! Nouns: a *file* of a project is a path with all its *versions*; each version's string *keys* keep their ids over
//! uploads. The keys of the latest version, and those that are gone (*obsolete*), are the file's *catalogue*. *Key
//! context* is what translators are told of keys. A *translation* belongs to a key and a locale.
//!
//! Invariants:
//! - an export without edits is the upload, byte for byte;
//! - nothing of an upload can be seen before it is published, or half;
//! - *outdated is derived*: a key remembers in which version its source last changed, a translation from which version
//!   it was made; no upload rewrites a translation, and none waits for those who write some;
//! - the root key of a rails file is the project's source locale in some spelling, unless the request named another.
//!
//! Reading order: `model`, `translation` (words and pure rules) · `tables` · `key_ids`, `sealed`, `catalogue` (how keys are
//! stored) · `files`, `keys`, `source_locale` · `contexts` · `imports` · `translations` · `exports` · `verify`.

mod catalogue;
mod contexts;
mod exports;
mod files;
mod imports;
mod key_ids;
mod keys;
mod model;
mod sealed;
mod source_locale;
mod tables;
mod translation;
mod translations;
mod verify;

#[cfg(test)]
mod tests;

pub use contexts::{KeyContext, get_contexts, prepare_contexts, put_contexts};
pub use exports::{
    Fallback, Material, MetadataEntry, NoteExport, TRANSLATIONS_BYTES_MAX, Wish, check_revision, etag, gather,
    note_export,
};
pub use files::{get_file, list_files};
pub use imports::{ImportFile, Original, Receiver, get_import, get_manifest, prepare_import, publish_import};
pub use keys::{ListedKey, get_key, list_keys};
pub use model::{File, FileId, Format, KeyClass, KeyId, Source, category_at};
pub use source_locale::put_source_locale;
pub use tables::TABLES;
pub use translation::{Translated, Translation, Wished, Wording, translation_locale};
pub use translations::{PutTranslation, get_translation, put_translation};
pub use verify::verify;
#[cfg(test)]
pub use {
    key_ids::key_prefix,
    tables::{CATALOGUES, CatalogueRow, FILE_LOCALES, FileLocaleRow, KEY_FILES_BY_PROJECT, KeyFileRow},
    translations::LOCALES_MAX,
};
