//! Drafts: messages that an agent keeps until it sends them. Nobody else sees them, and nobody is looked up before.
//!
//! Invariants: a draft that was sent is gone, in the same transaction; what one says is sealed for the
//! tenant; whoever makes or removes one counts it, so that nobody need look at others: they may be long.
//!
//! Reading order: `model`, `tables` · `rows` (reading and keeping) · `verify` · `http`.

mod http;
mod model;
mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use http::ENDPOINTS;
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
