//! Webhooks: who is told what happens to runs and workflows. What every service with webhooks does alike is in
//! [`quintet_platform::webhooks`]; here is what is of runs alone.
//!
//! Nouns: an *endpoint* is an address of a tenant that asks for events by patterns, and has a secret. An *inline webhook*
//! belongs to one run alone.
//!
//! Invariants:
//! - a change of state, its event and one delivery for each subscription that asks for it are one transaction
//!   (`quintet_platform::deliveries` does the rest);
//! - an endpoint that is inactive gets nothing new;
//! - secrets are sealed, and shown once.
//!
//! Reading order: `model` (words), `tables`, `shorten` (what is too long) · `room` (what is of runs) · `emit` (what happens
//! is told) · the verbs `manage` · `address` (which may be called) · `http` · `operator`.

pub(crate) mod address;
pub(crate) mod emit;
pub(crate) mod http;
pub(crate) mod manage;
pub(crate) mod model;
pub(crate) mod operator;
mod room;
mod shorten;
mod tables;

#[cfg(test)]
mod tests;

pub use room::WEBHOOKS;
pub(crate) use tables::TABLES;
