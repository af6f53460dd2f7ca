//! Files, keys, key context and translations over HTTP.
//!
//! Reading order: `files` (and the file that a path names) · `uploads`, `exports`, `source_locale` · `keys`, `contexts`,
//! `translations` · `wire` (what several of them write).

pub mod contexts;
pub mod exports;
pub mod files;
pub mod keys;
pub mod source_locale;
pub mod translations;
pub mod uploads;
pub mod wire;
