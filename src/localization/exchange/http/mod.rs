//! Exchange over HTTP.
//!
//! Reading order: `documents` (what all of them share) · `xliff`, `tbx`.

mod documents;
pub mod tbx;
pub mod xliff;
