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
//! stored) · `files`, `keys`, `source_locale` · `context_pages`, `contexts` · `imports` · `translations` · `exports` ·
//! `http` · `verify`.

mod catalogue;
mod context_pages;
mod contexts;
mod exports;
mod files;
pub mod http;
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

pub use catalogue::keys_ever;
pub use contexts::{contexts_version, find_context};
pub use files::get_file;
pub use keys::{each_active_key, get_key, is_current};
pub use model::{FileId, Format, Key, KeyEntry, KeyId, Source, category_at};
pub use tables::{TABLES, TranslationRow};
pub use translation::{
    Approval, ReviewState, State, Translated, Translation, Wished, Wording, shaped, translation_locale,
};
pub use translations::{each_row, get_row, get_translation, put_row, state_of, translation};
pub use verify::verify;
#[cfg(test)]
pub use {
    exports::gather,
    key_ids::key_prefix,
    tables::{CATALOGUES, CatalogueRow, FILE_LOCALES, FileLocaleRow, KEY_FILES_BY_PROJECT, KeyFileRow},
    translations::LOCALES_MAX,
};
