//! What a tenant has set.
//!
//! Reading order: `model` · `tables` · `patch` · `http`.

pub mod http;
mod model;
mod patch;
mod tables;

pub use patch::get_settings;
pub use tables::TABLES;
#[cfg(test)]
pub use {model::Settings, patch::patch_settings};
