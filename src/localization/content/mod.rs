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
//! stored), `words` · `files`, `keys`, `source_locale` · `rejudge` (what verdicts hang on) · `context_pages`, `contexts` ·
//! `imports` · `translations` · `walk` · `exports` · `http` · `verify`.

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
pub mod rejudge;
mod sealed;
mod source_locale;
mod tables;
mod translation;
mod translations;
mod verify;
mod walk;
mod words;

#[cfg(test)]
mod tests;

use quintet_storage::TableSpec;

use crate::lists::joined;

pub use catalogue::{PageRange, Pages, get_catalogue, key_paths, keys_ever, read_entries};
pub use contexts::{contexts_version, find_context, get_contexts};
pub use exports::{Base, Fallback, TRANSLATIONS_BYTES_MAX, Wish};
pub use files::{get_file, list_files};
pub use imports::{changed_numbers, imports_after, replaced_numbers};
pub use key_ids::{key_id, split_key_id};
pub use keys::{each_active_key, get_key};
pub use model::{File, FileId, FileVersion, Format, Key, KeyClass, KeyEntry, KeyId, Source, category_at, place_of};
pub use sealed::{
    Parts as ValueParts, ValueReader, adopt as adopt_value, begin as begin_value, read_part, refused as upload_refused,
    stage_value,
};
pub use tables::{
    CatalogueRow, FILE_LOCALES, FILE_PATHS, FILES, FileRow, KEY_FILES_BY_PROJECT, KeyFileRow, TRANSLATIONS,
    TranslationRow,
};
pub use translation::{
    Approval, ReviewState, State, TEXT_BYTES_MAX, Translated, TranslatedForm, Translation, Wished, Wording, shaped,
    translation_locale,
};
pub use translations::{each_row, get_row, get_translation, put_row, state_of, translation};
pub use verify::verify;
pub use walk::{Walk, Walked};
pub use words::{active_words, words_of};
#[cfg(test)]
pub use {
    contexts::{prepare_contexts, put_contexts},
    imports::{Arrived, ImportFile, Original, Receiver, prepare_import, publish_import},
    key_ids::key_prefix,
    model::KeyContext,
    tables::{CATALOGUES, FileLocaleRow, FileRowBefore2},
    translations::LOCALES_MAX,
};

/// The tables of this folder.
pub const TABLES: &[TableSpec] =
    &joined::<_, { tables::TABLES.len() + rejudge::TABLES.len() }>(&[tables::TABLES, rejudge::TABLES]);
