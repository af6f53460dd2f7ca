//! Views of the rows: what readers see, what verbs see, and what is seen of a directory that is only looked at.
//!
//! Reading order: `read` (what all of them offer), `merge` (layers of rows), `snapshot` (readers), `overlay` (the log laid
//! over tables, for `verify` and salvage). What verbs see is in `write::tx`.

pub(crate) mod merge;
pub(crate) mod overlay;
pub(crate) mod read;
pub(crate) mod snapshot;
