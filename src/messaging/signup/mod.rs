//! Signing up, where the operator lets everybody (6-messaging.md, K5): who has an address that mail reaches makes a tenant, a
//! workspace and its first key by himself.
//!
//! Nouns: a *sign-up* is asked for on a page and waits for an hour, until who reads the mail of its address follows the *link*
//! that was sent there, and *confirms* it. Then there is a tenant.
//!
//! Invariants:
//! - nothing is made before the address is confirmed, and looking at a page makes nothing;
//! - who asks learns nothing of whom an address belongs to;
//! - a link is kept as its digest, is in no log, and is good once;
//! - what waits is bounded, in all, by address and by where it comes from, and goes when its time is over;
//! - that mail was sent is said when the relay has taken it.
//!
//! Reading order: `model` · `tables` · the verbs `ask`, `confirm` · `http`.

mod ask;
mod confirm;
pub(crate) mod http;
mod model;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use ask::expire;
pub(crate) use tables::{TABLES, verify};
