//! Terms: what a project says of its words, for people, for the checks and for the AI engine.
//!
//! Nouns: an *entry* of the glossary is a *term* (a source text and what it becomes in a locale), a text that is *not
//! translated*, or one that is *forbidden* in translations. A *style* is an instruction for a locale or for all, in the
//! scope *default* or *legal*; a default one may ask for a formal *register*. The *words* of a locale are all entries and
//! the register that hold for it.
//!
//! Invariants:
//! - no two entries of a project say the same: kind, locale, source and target;
//! - a project has a bounded number of entries and of styles, and of bytes in these;
//! - whatever changes what the checks look at draws the project a new *generation*: under one, words are the same.
//!
//! Reading order: `model` · `wording` (what an entry may say) · `reach` (for which locales it holds) ·
//! `tables` · `generation`, `changed` · `get`, `create`, `replace`, `delete`, `import` · `style` · `words`, `rules` · `http` · `verify`.

mod changed;
mod create;
mod delete;
mod generation;
mod get;
pub mod http;
mod import;
mod model;
mod reach;
mod replace;
mod rules;
mod style;
mod tables;
mod verify;
mod wording;
mod words;

#[cfg(test)]
mod tests;

pub use generation::project_terms;
pub use get::list_entries;
pub use import::{IMPORT_ENTRIES_MAX, import_entries};
pub use model::{ENTRIES_MAX, ENTRY_BYTES_MAX, Entry, EntryKind, NOTE_CHARS_MAX, TERM_CHARS_MAX, TermId, Wording};
pub use rules::rules;
pub use tables::TABLES;
pub use verify::verify;
pub use words::{Word, made_of_words, style_texts};
#[cfg(test)]
pub use {
    create::create_entry,
    delete::delete_entry,
    model::{Register, StyleScope},
    replace::replace_entry,
    style::{PutStyle, put_style},
};
