//! What an agent wants to remember: a list of texts, each with a number that is never used again.
//!
//! Invariants: entries and bytes are counted with each change, and stay within the workspace's limits; texts are sealed for
//! the tenant.
//!
//! Reading order: `tables` · `entries` (reading, adding, replacing, removing) · `verify` · `http`.

mod entries;
pub(crate) mod http;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
