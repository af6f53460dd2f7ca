//! Sealing and opening: values of rows, and chunks of large values.

use std::fmt;

use bincode::{Decode, Encode};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::owners;
use crate::error::Abort;
use crate::tables::codec::Row;
use crate::tables::keys::Key;
use crate::tables::table::Table;
use crate::vault::cipher::Binding;
use crate::vault::{DataKey, Erased, KeyOwner};
use crate::view::read::Read;
use crate::write::tx::WriteTx;

/// A sealed value, as rows hold it. It tells the length of what it holds, to the byte, and nothing else.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Sealed(pub(super) Vec<u8>);

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

/// Seals a value for the row under `key` of `table`. The owner's data key is made if it has none.
///
/// Two sealed values of one row could be exchanged for one another by somebody who writes to the disk: seal them as
/// one.
///
/// # Errors
/// Refused if the owner has been erased; the store's failures, [`Failure::Io`](crate::Failure::Io) among them if the store has not been
/// given its root key.
pub fn seal<K: Key, V: Row>(
    tx: &mut WriteTx<'_>,
    owner: KeyOwner,
    table: &Table<K, V>,
    key: &K,
    plaintext: &[u8],
) -> Result<Sealed, Abort<Erased>> {
    let data_key = owners::obtain(tx, owner)?;
    let stored_key = table.key_bytes(key);
    Ok(Sealed(data_key.seal(&Binding::Value { owner, stored_key: &stored_key }, plaintext)?))
}

/// Opens what was sealed for this owner and this row.
///
/// # Errors
/// Refused if the owner has been erased. [`Failure::Damaged`](crate::Failure::Damaged) if the value is not what was
/// sealed for this row: bits that changed, or a ciphertext that comes from another row. The store's failures.
pub fn open<K: Key, V: Row>(
    read: &impl Read,
    owner: KeyOwner,
    table: &Table<K, V>,
    key: &K,
    sealed: &Sealed,
) -> Result<Zeroizing<Vec<u8>>, Abort<Erased>> {
    let data_key = read.data_key(owner)?;
    let stored_key = table.key_bytes(key);
    data_key.open(&Binding::Value { owner, stored_key: &stored_key }, &sealed.0, table.spec().name)
}

/// Seals one chunk of a large value.
pub(crate) fn seal_chunk(data_key: &DataKey, chunk: &Chunk, plaintext: &[u8]) -> Result<Vec<u8>, Abort<Erased>> {
    Ok(data_key.live()?.seal(&chunk.binding(), plaintext)?)
}

/// Opens one chunk of a large value.
pub(crate) fn open_chunk(
    data_key: &DataKey,
    chunk: &Chunk,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Abort<Erased>> {
    data_key.open(&chunk.binding(), sealed, "large_chunks")
}

/// Makes sure that an owner has a data key.
pub(crate) fn prepare(tx: &mut WriteTx<'_>, owner: KeyOwner) -> Result<(), Abort<Erased>> {
    owners::obtain(tx, owner).map(drop)
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
    fn binding(&self) -> Binding<'static> {
        let Chunk { owner, upload, index, is_last } = *self;
        Binding::Chunk { owner, upload: *upload.as_bytes(), index, is_last }
    }
}
