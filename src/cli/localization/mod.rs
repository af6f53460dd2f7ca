//! Commands for localization.

pub mod core;
