//! JSON (RFC 8259), strictly: no comments, no trailing commas, no second value, no member twice.

mod members;
mod plurals;
mod read;
mod write;

pub(super) use members::{omit, rewrite_plural};
pub(super) use read::scan;
pub(super) use write::write_string;
