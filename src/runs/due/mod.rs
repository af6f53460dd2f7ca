//! What falls due by the clock: its kinds, each with what it needs, and the one table they lie in.
//!
//! Whoever makes something due puts it here in the same transaction; `sweep` takes it out when its instant has come.
//!
//! Reading order: `model` (the kinds) · `tables` (where they lie) · `format_1` (where they lay).

mod format_1;
mod model;
mod tables;

use quintet_storage::TableSpec;

pub(crate) use format_1::MIGRATION;
pub(crate) use model::Due;
pub(crate) use tables::{AGENDA, clear, first, is_put, put};

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[tables::DUE.spec(), format_1::DUE.spec()];
