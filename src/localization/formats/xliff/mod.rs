//! XLIFF 1.2 and 2.1, out; 1.1, 1.2, 2.0 and 2.1, in (localization, X3 and X4).
//!
//! A document is read unit by unit and written unit by unit: neither is ever in memory as a whole.
//!
//! Reading order: `model` · `content` (text with inline codes) · `read` · `write`.

mod content;
mod model;
mod read;
mod write;

pub use model::{Languages, Said, Unit, Version};
pub use read::UnitReader;
pub use write::{File, Pair, Progress, Writer, Written, WrittenUnit};
