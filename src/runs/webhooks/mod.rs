//! Webhooks: who is told what happens to runs and workflows, and how what is sent looks.
//!
//! Nouns: an *endpoint* is an address of a tenant that asks for events by patterns, and has a secret. An *inline webhook*
//! belongs to one run alone. An *envelope* is what is sent of an event; a *notice* tells of an endpoint in a bad way.
//!
//! Invariants:
//! - a change of state, its event and one delivery for each subscription that asks for it are one transaction
//!   (`quintet_platform::deliveries` does the rest);
//! - an endpoint that is inactive gets nothing new;
//! - secrets are sealed, and shown once.
//!
//! Reading order: `model` (words and pure rules), `envelope` · `tables`, `endpoints` (rows) · `emit` (what happens is
//! told) · the verbs `manage` · `deliveries` (rules, heads, what a death leads to) · `address` (which may be called) ·
//! `verify` · `http` · `operator` (what the operator sees and does).

pub(crate) mod address;
mod deliveries;
pub(crate) mod emit;
pub(crate) mod endpoints;
pub(crate) mod envelope;
pub(crate) mod http;
pub(crate) mod manage;
pub(crate) mod model;
pub mod operator;
mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use deliveries::RunDeliveries;
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
