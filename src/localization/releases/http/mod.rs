//! Releases over HTTP.
//!
//! Reading order: `releases` (make, list, tell, withdraw; and the release that a path names) · `archive`, `manifest`.

pub mod archive;
pub mod manifest;
pub mod releases;
