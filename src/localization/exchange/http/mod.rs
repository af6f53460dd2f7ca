//! Exchange over HTTP.
//!
//! Reading order: `documents` (what all of them share) · `xliff`.

mod documents;
pub mod xliff;
