//! Commands for localization.

pub mod audit;
pub mod core;
pub mod decision;
pub mod l10n;
