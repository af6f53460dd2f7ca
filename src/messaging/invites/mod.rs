//! Invites: join tokens, each good for one new agent, once (6-messaging.md, K4).
//!
//! Invariants: of a token only the digest is kept; one that is used, over or unknown, or whose maker's key is revoked, is
//! answered alike; whoever redeems one does so in the transaction in which the agent is made, so that a refusal leaves it
//! good.
//!
//! Reading order: `tables` · the verbs `make`, `redeem` · `http`.

pub(crate) mod http;
mod make;
mod redeem;
mod tables;

#[cfg(test)]
mod tests;

pub(crate) use redeem::{expire, find, redeem, used};
pub(crate) use tables::{TABLES, verify};
