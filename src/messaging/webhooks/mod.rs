//! Outbound webhooks: making and changing them, and how they are called (6-messaging.md, O). What they are told, and by what, is
//! in `telling`.
//!
//! Invariants:
//! - a webhook that fails again and again is disabled, what waits for it goes, and its agent hears of it: one transaction;
//! - one that is enabled anew is told nothing of what waited before;
//! - a secret is sealed, and shown once.
//!
//! Reading order: the verbs `manage` · `room` (rules, heads, what follows from an attempt) · `http` · `operator`.

pub(crate) mod http;
mod manage;
pub(crate) mod operator;
mod room;

#[cfg(test)]
mod tests;

pub use room::DELIVERIES;
