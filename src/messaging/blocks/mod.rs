//! Blocks: agents that an agent takes nothing from.
//!
//! Reading order: `model`, `tables` · `rows` (who has blocked whom, and what was suppressed) · `http` ·
//! `verify`.

pub(crate) mod http;
mod model;
mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use model::Block;
pub(crate) use rows::{blockers_of, count_suppressed, find, of_agent, put, remove};
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
