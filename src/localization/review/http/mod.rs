//! Translations over HTTP.
//!
//! Reading order: `translations` (read and write one) · `transitions` · `annotations` (what the checks say).

pub mod annotations;
pub mod transitions;
pub mod translations;
