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
//! Reading order: this file, `cipher`, `root` (root keys, which of them opens a store), `data_keys`, `rotation`.

mod cipher;
mod data_keys;
mod root;
pub mod rotation;

#[cfg(test)]
mod tests;

use std::fmt;

use bincode::{Decode, Encode};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::codec::Row;
use crate::error::{Abort, Failure, Refusal};
use crate::keys::Key;
use crate::read::Read;
use crate::table::{Table, TableSpec};
use crate::time::Timestamp;
use crate::tx::WriteTx;

pub use cipher::OVERHEAD_BYTES;
pub use data_keys::DataKey;
pub use root::{KeyId, KeyRing, PreviousKey, PreviousPhase, RootKey, RootState, UnlockError, root_state};

pub(crate) use data_keys::{DATA_KEYS, Vault};

use cipher::Place;

/// The tables of this module.
pub const TABLES: &[TableSpec] = &[data_keys::DATA_KEYS.spec(), root::ROOT.spec()];

/// Whose data key something is sealed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyOwner {
    /// The appliance itself: what belongs to no tenant.
    Appliance,
    /// A tenant.
    Tenant(Uuid),
    /// A member of a tenant: that member's personal fields, and nothing else.
    Member {
        /// The tenant.
        tenant: Uuid,
        /// The member.
        member: Uuid,
    },
}

/// Bytes of a [`KeyOwner`] in associated data and in rows.
const OWNER_BYTES: usize = 33;

impl KeyOwner {
    /// The owner as the key of the table of data keys.
    pub(crate) fn key(self) -> (u8, Uuid, Uuid) {
        match self {
            KeyOwner::Appliance => (0, Uuid::nil(), Uuid::nil()),
            KeyOwner::Tenant(tenant) => (1, tenant, Uuid::nil()),
            KeyOwner::Member { tenant, member } => (2, tenant, member),
        }
    }

    fn of_key(key: (u8, Uuid, Uuid)) -> Option<KeyOwner> {
        match key {
            (0, tenant, member) if tenant.is_nil() && member.is_nil() => Some(KeyOwner::Appliance),
            (1, tenant, member) if member.is_nil() => Some(KeyOwner::Tenant(tenant)),
            (2, tenant, member) => Some(KeyOwner::Member { tenant, member }),
            _ => None,
        }
    }

    /// The kind (0, 1, 2), the tenant, the member; nil where there is none.
    pub(crate) fn bytes(self) -> [u8; OWNER_BYTES] {
        let (kind, tenant, member) = self.key();
        let parts = std::iter::once(kind).chain(*tenant.as_bytes()).chain(*member.as_bytes());
        let mut bytes = [0; OWNER_BYTES];
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }
}

impl Encode for KeyOwner {
    fn encode<E: bincode::enc::Encoder>(&self, encoder: &mut E) -> Result<(), bincode::error::EncodeError> {
        let (kind, tenant, member) = self.key();
        (kind, *tenant.as_bytes(), *member.as_bytes()).encode(encoder)
    }
}

impl<C> Decode<C> for KeyOwner {
    fn decode<D: bincode::de::Decoder<Context = C>>(decoder: &mut D) -> Result<Self, bincode::error::DecodeError> {
        let (kind, tenant, member): (u8, [u8; 16], [u8; 16]) = Decode::decode(decoder)?;
        KeyOwner::of_key((kind, Uuid::from_bytes(tenant), Uuid::from_bytes(member)))
            .ok_or(bincode::error::DecodeError::Other("unknown kind of key owner"))
    }
}

bincode::impl_borrow_decode!(KeyOwner);

/// A sealed value, as rows hold it. It tells the length of what it holds, to the byte, and nothing else.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Sealed(Vec<u8>);

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

/// The owner's data key has been destroyed: what was sealed under it cannot be read by anyone, for good. A state, not
/// damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased;

impl Refusal for Erased {}

/// Seals a value for the row under `key` of `table`. The owner's data key is made if it has none.
///
/// Two sealed values of one row could be exchanged for one another by somebody who writes to the disk: seal them as
/// one.
///
/// # Errors
/// Refused if the owner has been erased; the store's failures, [`Failure::Io`] among them if the store has not been
/// given its root key.
pub fn seal<K: Key, V: Row>(
    tx: &mut WriteTx<'_>,
    owner: KeyOwner,
    table: &Table<K, V>,
    key: &K,
    plaintext: &[u8],
) -> Result<Sealed, Abort<Erased>> {
    let data_key = data_keys::obtain(tx, owner)?;
    let stored_key = table.key_bytes(key);
    Ok(Sealed(data_key.seal(&Place::Value { owner, stored_key: &stored_key }, plaintext)?))
}

/// Opens what was sealed for this owner and this row.
///
/// # Errors
/// Refused if the owner has been erased. [`Failure::Damaged`] if the value is not what was sealed for this place: bits
/// that changed, or a ciphertext that comes from another row. The store's failures.
pub fn open<K: Key, V: Row>(
    read: &impl Read,
    owner: KeyOwner,
    table: &Table<K, V>,
    key: &K,
    sealed: &Sealed,
) -> Result<Zeroizing<Vec<u8>>, Abort<Erased>> {
    let data_key = read.data_key(owner)?;
    let stored_key = table.key_bytes(key);
    data_key.open(&Place::Value { owner, stored_key: &stored_key }, &sealed.0, table.spec().name)
}

/// Destroys an owner's data key: once this transaction is acknowledged, nothing that was ever sealed for the owner
/// opens any more, and nothing can be sealed for it. An owner that never had a key is shut out as well. Says whether
/// this changed anything.
///
/// A tenant's key is not its members': each of those is destroyed by itself.
///
/// # Errors
/// The store's failures; [`Failure::Io`] for [`KeyOwner::Appliance`], whose key is never destroyed.
pub fn destroy(tx: &mut WriteTx<'_>, now: Timestamp, owner: KeyOwner) -> Result<bool, Failure> {
    data_keys::destroy(tx, now, owner)
}

/// Seals one chunk of a large value.
pub(crate) fn seal_chunk(data_key: &DataKey, chunk: &Chunk, plaintext: &[u8]) -> Result<Vec<u8>, Abort<Erased>> {
    Ok(data_key.live()?.seal(&chunk.place(), plaintext)?)
}

/// Opens one chunk of a large value.
pub(crate) fn open_chunk(
    data_key: &DataKey,
    chunk: &Chunk,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Abort<Erased>> {
    data_key.open(&chunk.place(), sealed, "large_chunks")
}

/// Makes sure that an owner has a data key.
pub(crate) fn prepare(tx: &mut WriteTx<'_>, owner: KeyOwner) -> Result<(), Abort<Erased>> {
    data_keys::obtain(tx, owner).map(drop)
}

/// Which chunk of which large value.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) owner: KeyOwner,
    pub(crate) upload: Uuid,
    pub(crate) index: u32,
    pub(crate) is_last: bool,
}

impl Chunk {
    fn place(&self) -> Place<'static> {
        let Chunk { owner, upload, index, is_last } = *self;
        Place::Chunk { owner, upload: *upload.as_bytes(), index, is_last }
    }
}
