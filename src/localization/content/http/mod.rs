//! Files, keys and key context over HTTP.
//!
//! Reading order: `files` (and the file that a path names) · `arriving` (bodies that are documents) · `uploads`, `exports`, `source_locale` · `keys`, `contexts` ·
//! `wire` (what several of them write).

pub mod arriving;
pub mod contexts;
pub mod exports;
pub mod files;
pub mod keys;
pub mod source_locale;
pub mod uploads;
pub mod wire;
