//! Commands for localization.

pub mod core;
pub mod decision;
pub mod l10n;
