//! The audit chain: one for each tenant, from its first event on.
//!
//! An *event* is written in the transaction of what it tells of, so that there is never one without the other. Its
//! *hash* is SHA-256 over canonical JSON (sorted members, no white space) of everything the interface shows of it but
//! the hash itself; `prev_hash` is the hash of the event before it, 64 zeros for the first. Whoever has the events can
//! check the chain without this program. A *checkpoint* is the appliance's signature over the number and the hash of an
//! event; its *anchor* is the same as a line of a file outside of the data directory.
//!
//! Invariants:
//! - a chain has no gap and no branch, and its *head* is its last event;
//! - *payloads* hold ids, numbers, digests, locale tags, paths of files and words out of closed lists: never what people
//!   wrote (names, source texts, translations, context), nor anything secret;
//! - whatever has no checkpoint is in the agenda; whatever has one is for good;
//! - a checkpoint that is to have an anchor is noted as such until the anchor is on the disk.
//!
//! Below all verbs of the room; how checkpoints and anchors are made by the clock, and the endpoints, lie in
//! [`proof`](crate::proof). Reading order: `model` · `tables` · `text` · `due`, `record` · `key`, `checkpoint` · `anchors`
//! (the file) · `breaks`, `chain`, `anchored` (going over all of it) · `verify`.

mod anchored;
mod anchors;
mod breaks;
mod chain;
mod checkpoint;
mod due;
mod key;
mod model;
mod record;
mod tables;
mod text;
mod verify;

#[cfg(test)]
mod tests;

pub use anchored::AnchorCheck;
pub use anchors::{AnchorFile, Anchoring};
pub use breaks::Break;
pub use chain::ChainCheck;
pub use checkpoint::{Checkpoint, checkpoints_after, note_anchored, unanchored, write_checkpoints};
pub use due::{next_due, take_up};
pub use key::{PublicKey, make_key, public_key};
pub use model::{Actor, ActorKind, Event};
pub use record::{events_after, head_seq, probe, record, seq_at};
pub use tables::{AUDIT_DUE, AuditEventRow, TABLES};
#[cfg(test)]
pub use tests::forget_due;
pub use text::write_event;
pub use verify::{verify, verify_anchors};
