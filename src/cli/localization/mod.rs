//! Commands for localization.

pub mod core;
pub mod l10n;
