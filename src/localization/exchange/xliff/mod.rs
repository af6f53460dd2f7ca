//! The translations of a file as XLIFF.
//!
//! Reading order: `document` (what came in) · `verdict` (what becomes of a key) · `import` · `report` (what became of all
//! units) · `export`.

mod document;
mod export;
mod import;
mod report;
mod verdict;

pub use document::{Document, bytes_max, codes_bytes, read_document};
pub use export::{Export, Shape};
pub use import::{check_document, prepare_part, write_part};
pub use report::{LineMaker, Lines, Report};
