//! What falls due by the clock: its kinds, each with what it needs, and the tables they lie in.
//!
//! Whoever makes something due puts it here in the same transaction; `sweep` takes it out when its instant has come.
//!
//! Reading order: `model` (the kinds) · `tables` (where they lie) · `format_1` (where they lay).

mod format_1;
mod model;
mod tables;

use quintet_storage::TableSpec;

pub(crate) use format_1::MIGRATION;
pub(crate) use model::{Due, Fire};
pub(crate) use tables::{
    AGENDA, FIRES_AGENDA, clear, clear_fire, each_fire, first, first_fires, is_fire_put, is_put, put, put_fire,
};

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[tables::DUE.spec(), format_1::DUE.spec(), tables::FIRES.spec()];
