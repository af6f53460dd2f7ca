//! Localization: string files that come back byte for byte, translations, checks, releases, and an audit chain.
//!
//! Reading order: [`core`] (locales: tags, forms, plural categories).

pub mod core;
