//! Localization: string files that come back byte for byte, translations, checks, releases, and an audit chain.

pub mod category;
pub mod files;
