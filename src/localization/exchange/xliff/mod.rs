//! The translations of a file as XLIFF.
//!
//! Reading order: `document` (what came in) · `verdict` (what becomes of a key) · `import` · `export`.

mod document;
mod export;
mod import;
mod verdict;

pub use document::{Document, read_document};
pub use export::{Export, Shape};
pub use import::{Paths, check_document, paths_of, prepare_part, write_part};
pub use verdict::Verdict;
