//! Exchange over HTTP.
//!
//! Reading order: `documents` (what all of them share) · `xliff`, `tmx`, `tbx`.

mod documents;
pub mod tbx;
pub mod tmx;
pub mod xliff;
