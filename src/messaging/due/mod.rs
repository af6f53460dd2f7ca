//! What falls due by the clock: its kinds, each with what it needs, and the table they lie in.
//!
//! Whoever makes something due puts it here in the same transaction; `sweep` takes it out when its instant has come. What a
//! suspended workspace is not to do is *parked*: it waits by the instant at which it was due, and costs nothing until the
//! workspace is active again, which is looked for once for all of it.
//!
//! Reading order: `model` (the kinds) · `tables` (where they lie) · `parked`.

mod model;
mod parked;
mod tables;

pub(crate) use model::Due;
pub(crate) use parked::{each_parked, is_put_or_parked, park, parked, put_back, wake_parked, watch};
pub(crate) use tables::{AGENDA, TABLES, clear, each, first, is_put, put};
