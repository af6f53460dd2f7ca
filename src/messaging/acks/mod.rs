//! Acknowledgements that are owed: a message can ask its recipients for one, and whoever owes it is reminded until he has
//! acknowledged the message, or answered it, or its time is over.
//!
//! Invariants: what is owed has one row at the one who owes it and one at the one who is owed, and falls due once.
//!
//! Reading order: `model` (when whom is reminded) · `tables` · `rows` (owing, settling, reading) · `verify`.

mod model;
mod rows;
mod tables;
mod verify;

pub(crate) use model::Owed;
pub(crate) use rows::{find, forget, of_debtor, of_sender, owe, put_off, settle};
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
