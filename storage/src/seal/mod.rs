//! Sealed values: what a thief of the disk must not read lies in its row as a ciphertext.
//!
//! Nouns: a *root key* ([`RootKey`]) never touches a value; it wraps *data keys*, one for each [`KeyOwner`], made in
//! the transaction of the owner's first sealing. A [`Sealed`] is a value under its owner's data key; it opens only for
//! that owner, in that table, under that row's key. [`destroy`] ends an owner's data key: nothing sealed under it
//! opens any more, which is how a member is erased.
//!
//! Invariants:
//! - whether a key may be used is read from its row in the newest durable state (in a transaction: from what the
//!   transaction sees), never from memory: a destroyed key opens nothing from the moment its destruction is
//!   acknowledged, for readers of older snapshots, too;
//! - a key in memory is found by the random identity that its row names, so one that a refused transaction made can
//!   never stand in for another;
//! - a destroyed owner never gets another key;
//! - every data key is wrapped by the root key in force, and, as long as a copy of the directory may know only the
//!   previous one, by that as well (see [`rotation`]).
//!
//! A verb that seals draws a nonce, and perhaps a key, from the kernel's random source. Verbs are deterministic
//! otherwise; this is no exception that anyone could notice: a nonce is not state, nothing is decided by it, the log
//! holds the resulting bytes, and a replay writes those.
//!
//! DESIGN.md, "Sealing", has the format byte by byte and what it protects from.
//!
//! Reading order: [`vault`](crate::vault) (keys) · `root` (root keys, which of them opens a store), `owners` (data keys in
//! transactions), `value` (what services call), `rotation`, `unlock`.

mod owners;
mod root;
pub mod rotation;
mod unlock;
mod value;

#[cfg(test)]
mod tests;

use crate::tables::table::TableSpec;

pub use crate::vault::{DataKey, Erased, KeyId, KeyOwner, KeyRing, OVERHEAD_BYTES, RootKey};
pub use owners::destroy;
pub use root::{PreviousKey, PreviousPhase, RootState, UnlockError, root_state};
pub use value::{Sealed, open, seal};

pub(crate) use value::{Chunk, open_chunk, prepare, seal_chunk};

/// The tables of sealing.
pub const TABLES: &[TableSpec] = &[crate::vault::DATA_KEYS.spec(), root::ROOT.spec()];
