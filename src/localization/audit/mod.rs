//! The audit chain: one for each tenant, from its first event on.
//!
//! An *event* is written in the transaction of what it tells of, so that there is never one without the other. Its
//! *hash* is SHA-256 over canonical JSON (sorted members, no white space) of everything the interface shows of it but
//! the hash itself; `prev_hash` is the hash of the event before it, 64 zeros for the first. Whoever has the events can
//! check the chain without this program.
//!
//! Invariants:
//! - a chain has no gap and no branch, and its *head* is its last event;
//! - *payloads* hold ids, numbers, digests, locale tags, paths of files and words out of closed lists: never what people
//!   wrote (names, source texts, translations, context), nor anything secret.
//!
//! Below all verbs of the room. Reading order: `model` · `tables` · `record` · `verify`.

mod model;
mod record;
mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use model::{Actor, ActorKind, Event};
#[cfg(test)]
pub use record::events_after;
pub use record::{probe, record};
pub use tables::TABLES;
pub use verify::verify;
