//! What a tenant has set.
//!
//! Reading order: `model` · `tables` · `patch` · `http`.

pub mod http;
mod model;
mod patch;
mod tables;

#[cfg(test)]
pub use model::Settings;
pub use patch::get_settings;
#[cfg(test)]
pub use patch::patch_settings;
pub use tables::TABLES;
#[cfg(test)]
pub use {model::Settings, patch::patch_settings};
