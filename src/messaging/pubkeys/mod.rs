//! Public keys that agents publish: others seal for the one kind, and check signatures with the other. The server opens
//! nothing.
//!
//! Nouns: a key is of an *algorithm* and known by its *fingerprint*. It is *revoked* for good: a key that was revoked is
//! never published again.
//!
//! Reading order: `model` (algorithms, reading a key's text) · `tables` · `rows` (finding) · `change` (publishing, revoking) ·
//! `verify` · `http`.

mod change;
pub(crate) mod http;
mod model;
mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use model::Algorithm;
pub(crate) use rows::{bytes, valid};
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
