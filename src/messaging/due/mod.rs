//! What falls due by the clock: its kinds, each with what it needs, and the table they lie in.
//!
//! Whoever makes something due puts it here in the same transaction; `sweep` takes it out when its instant has come.
//!
//! Reading order: `model` (the kinds) · `tables` (where they lie).

mod model;
mod tables;

pub(crate) use model::Due;
pub(crate) use tables::{AGENDA, TABLES, clear, each, first, is_put, put};
