//! Outbound webhooks: who is told what happens to translations, approval requests, releases and files. What every service
//! with webhooks does alike is in [`quintet_platform::webhooks`]; here is what is of localization alone.
//!
//! Nouns: an *endpoint* is an address of a tenant that asks for events by patterns, and has a secret. [`Changes`] gathers
//! what one transaction does to the translations of a file in a locale: they are one event.
//!
//! Invariants:
//! - what happens, its audit event and one delivery for each endpoint that asks for it are one transaction;
//! - no event has a text: ids, states and numbers only;
//! - where nobody asks, it costs a look at one hot row;
//! - an endpoint that is inactive gets nothing new; secrets are sealed, and shown once.
//!
//! Reading order: `events` (the catalogue), `tables`, `chain` (what the audit chain is told), `room` (what is of localization) · `tell`, `changes` (what happens is
//! told) · `manage` (the verbs, with their audit events) · `http` · `operator`. It lies below whoever has something to tell.

mod chain;
mod changes;
mod events;
pub mod http;
mod manage;
pub mod operator;
mod room;
mod tables;
mod tell;

#[cfg(test)]
mod tests;

pub use changes::{Changed, Changes, Occasion, Place};
pub use room::WEBHOOKS;
pub use tables::TABLES;
pub use tell::{Told, tell};
