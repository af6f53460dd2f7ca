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

#[cfg(test)]
pub(crate) use model::Block;
pub(crate) use rows::{blockers_of, count_suppressed, of_agent};
#[cfg(test)]
pub(crate) use rows::{find, put};
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
