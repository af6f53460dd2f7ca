//! Inbound endpoints: calls over HTTP that become messages to an agent (6-messaging.md, H).
//!
//! Nouns: an agent has one *endpoint* at most, with an address that says nothing and a *secret* whose holder may call. A *call*
//! shows by a *signature* over its timestamp and body that it is by him, in one of three forms. What was accepted is
//! *remembered* for ten minutes, so that nobody sends it again: only its sender may, with a newer timestamp. A *door* has
//! calls of this appliance itself come in without a socket.
//!
//! Invariants:
//! - whoever has no secret learns nothing: every call that is not proved is answered alike, and costs as much, whether or not
//!   there is such an endpoint;
//! - what is not proved is written down nowhere, but for a count that waits in memory;
//! - an accepted call, its message, its place in the memory of replays and its count are one transaction;
//! - secrets are sealed, and shown once; neither they nor what a call says stand in a log.
//!
//! Reading order: `model` (words), `signature` (what proves a call, pure) · `tables`, `rows` · `replays` (what is remembered) ·
//! the verbs `manage` · `message` (what a call becomes) · `receive` (the way of a call) · `door` (calls from within) ·
//! `keeping` (counts are stored) · `http` · `verify`.

mod door;
pub(crate) mod http;
mod keeping;
mod manage;
mod message;
mod model;
mod receive;
mod replays;
mod rows;
mod signature;
mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use door::Door;
pub(crate) use keeping::Keeping;
pub(crate) use replays::OldReplays;
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
