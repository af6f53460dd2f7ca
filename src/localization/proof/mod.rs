//! What an audit chain proves: checkpoints and anchors as the clock has them made, events and checkpoints as they are shown
//! and exported, and whether all of it is as it was written.
//!
//! What a chain is, and what can be wrong with one, lies in [`audit`](crate::audit), below everything that writes into it;
//! here is what needs a clock, a file or a caller.
//!
//! Invariants:
//! - an anchor is on the disk before it is noted that it is; a crash in between has it written twice, never lost;
//! - exports and verifications of chains of any length take constant memory, and other tenants have their turns between
//!   any two pieces of them.
//!
//! Reading order: `prepare` (the key), `sweep` (checkpoints and anchors by the clock) · `export` · `standing` · `http`.

mod export;
pub mod http;
mod prepare;
mod standing;
mod sweep;

#[cfg(test)]
mod tests;

pub use prepare::prepare;
pub use standing::{AuditStanding, audit_key, audit_standing};
pub use sweep::Checkpointing;
