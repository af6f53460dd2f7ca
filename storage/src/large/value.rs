//! Large values: chunks written in earlier transactions, referred to by a last, small one.
//!
//! A 50 MiB upload must not stand in the way of a group commit, so its bytes go in as rows of [`CHUNK_BYTES`] each,
//! in transactions of their own. Until a transaction *adopts* it, the upload has a deadline; after it the collector
//! removes it in small steps. Adoption and collection both look at the upload's row on the writer, so a value is
//! either adopted whole or collected, never both.
//!
//! A value may be *sealed* for a [`KeyOwner`]: each chunk by itself, bound to owner, upload and place, the last one
//! marked as such, so that chunks can neither be exchanged nor cut off. Chunks are sealed on the caller's thread; the
//! writer only looks whether the owner still has its key.

use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::error::{Abort, Failure, Refusal};
use crate::open::store::Store;
use crate::seal::{self, Chunk, Erased, KeyOwner};
use crate::tables::codec::Row;
use crate::tables::family::Family;
use crate::tables::table::{Table, TableSpec};
use crate::time::Timestamp;
use crate::view::read::{Read, Scan};
use crate::write::tx::WriteTx;

/// Bytes in every chunk but the last, before it is sealed.
pub const CHUNK_BYTES: usize = 256 << 10;

const UPLOADS: Table<Uuid, UploadRow> = Table::new(0x0001, Family::LARGE, "large_uploads");
pub(crate) const CHUNKS: Table<(Uuid, u32), ChunkRow> = Table::new(0x0002, Family::LARGE, "large_chunks");
const DEADLINES: Table<(Timestamp, Uuid), DeadlineRow> = Table::new(0x0003, Family::LARGE, "large_deadlines");

/// The table of deadlines, as it is named to whoever hears of what falls due ([`Store::on_due`]).
pub const DEADLINES_TAG: u16 = DEADLINES.spec().tag;

/// The tables of this module.
pub const TABLES: &[TableSpec] = &[UPLOADS.spec(), CHUNKS.spec(), DEADLINES.spec()];

/// An upload: unowned until it is adopted.
#[derive(Clone, Debug, Encode, Decode)]
struct UploadRow {
    /// When the collector may take it; `None` once it is adopted.
    deadline: Option<Timestamp>,
    chunks: u32,
}
impl Row for UploadRow {}

#[derive(Clone, Debug, Encode, Decode)]
pub(crate) struct ChunkRow(pub(crate) Vec<u8>);
impl Row for ChunkRow {}

#[derive(Clone, Debug, Encode, Decode)]
struct DeadlineRow;
impl Row for DeadlineRow {}

/// A complete large value; rows that own one store this.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LargeValue {
    pub(crate) id: [u8; 16],
    /// Its length in bytes, in the clear.
    pub size_bytes: u64,
    /// The SHA-256 of its chunks as they are stored, one after another: of a value that is not sealed, the SHA-256 of
    /// its bytes. Of a sealed one it says nothing about what it holds, and is checked without a key.
    pub sha256: [u8; 32],
    pub(crate) chunks: u32,
    pub(crate) sealed_for: Option<KeyOwner>,
}

impl LargeValue {
    fn id(&self) -> Uuid {
        Uuid::from_bytes(self.id)
    }

    /// Whose data key it is sealed under, if it is.
    #[must_use]
    pub fn sealed_for(&self) -> Option<KeyOwner> {
        self.sealed_for
    }
}

/// Why an upload cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadRefusal {
    /// It is gone: its deadline had passed before it was finished or adopted.
    Expired,
    /// Whom it is sealed for has been erased.
    Erased,
}
impl Refusal for UploadRefusal {}

fn erased(abort: Abort<Erased>) -> Abort<UploadRefusal> {
    match abort {
        Abort::Refused(Erased) => Abort::Refused(UploadRefusal::Erased),
        Abort::Failed(failure) => Abort::Failed(failure),
    }
}

/// An upload under way.
pub struct Upload {
    store: Store,
    id: Uuid,
    sealed_for: Option<KeyOwner>,
    chunks: u32,
    buffer: Zeroizing<Vec<u8>>,
    size_bytes: u64,
    digest: Sha256,
    patience: Duration,
}

impl Upload {
    /// Begins an upload that must be adopted within `lifetime_seconds`. Each step waits at most `patience` for the
    /// writer.
    ///
    /// # Errors
    /// The store's failures.
    pub async fn begin(
        store: &Store,
        lifetime_seconds: i64,
        patience: Duration,
    ) -> Result<Upload, Abort<UploadRefusal>> {
        Upload::begin_for(store, None, lifetime_seconds, patience).await
    }

    /// [`Upload::begin`] for a value that is sealed for an owner, whose data key is made if it has none.
    ///
    /// # Errors
    /// Refused if the owner has been erased; the store's failures.
    pub async fn begin_sealed(
        store: &Store,
        owner: KeyOwner,
        lifetime_seconds: i64,
        patience: Duration,
    ) -> Result<Upload, Abort<UploadRefusal>> {
        Upload::begin_for(store, Some(owner), lifetime_seconds, patience).await
    }

    async fn begin_for(
        store: &Store,
        sealed_for: Option<KeyOwner>,
        lifetime_seconds: i64,
        patience: Duration,
    ) -> Result<Upload, Abort<UploadRefusal>> {
        let id = store
            .write(Instant::now() + patience, move |tx, now| {
                if let Some(owner) = sealed_for {
                    seal::prepare(tx, owner).map_err(erased)?;
                }
                let id = tx.new_id();
                let deadline = now.plus_seconds(lifetime_seconds);
                tx.put(&UPLOADS, &id, &UploadRow { deadline: Some(deadline), chunks: 0 })?;
                put_deadline(tx, deadline, id)?;
                Ok::<_, Abort<UploadRefusal>>(id)
            })
            .await?;
        Ok(Upload {
            store: store.clone(),
            id,
            sealed_for,
            chunks: 0,
            buffer: Zeroizing::new(Vec::with_capacity(CHUNK_BYTES)),
            size_bytes: 0,
            digest: Sha256::new(),
            patience,
        })
    }

    /// Adds bytes; all but the last chunk's are durable when this returns.
    ///
    /// # Errors
    /// Refused if the upload's deadline has passed or whom it is sealed for has been erased; the store's failures.
    pub async fn push(&mut self, mut bytes: &[u8]) -> Result<(), Abort<UploadRefusal>> {
        self.size_bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            // A full chunk waits until it is known not to be the last.
            if self.buffer.len() == CHUNK_BYTES {
                self.write_chunk(false).await?;
            }
            let room = CHUNK_BYTES - self.buffer.len();
            let (head, rest) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(head);
            bytes = rest;
        }
        Ok(())
    }

    /// Writes what is left and names the value. It still has to be adopted.
    ///
    /// # Errors
    /// As [`Upload::push`].
    pub async fn finish(mut self) -> Result<LargeValue, Abort<UploadRefusal>> {
        // A sealed value has a last chunk even when it is empty: without one it could be cut down to nothing.
        if !self.buffer.is_empty() || self.sealed_for.is_some() {
            self.write_chunk(true).await?;
        }
        Ok(LargeValue {
            id: *self.id.as_bytes(),
            size_bytes: self.size_bytes,
            sha256: self.digest.finalize().into(),
            chunks: self.chunks,
            sealed_for: self.sealed_for,
        })
    }

    async fn write_chunk(&mut self, is_last: bool) -> Result<(), Abort<UploadRefusal>> {
        let (id, index, sealed_for) = (self.id, self.chunks, self.sealed_for);
        let chunk = match sealed_for {
            Some(owner) => {
                let place = Chunk { owner, upload: id, index, is_last };
                let data_key = self.store.read().data_key(owner)?;
                seal::seal_chunk(&data_key, &place, &self.buffer).map_err(erased)?
            }
            None => self.buffer.to_vec(),
        };
        self.buffer.clear();
        self.digest.update(&chunk);
        let chunk = ChunkRow(chunk);
        let verb = move |tx: &mut WriteTx<'_>, now| {
            if let Some(owner) = sealed_for {
                seal::prepare(tx, owner).map_err(erased)?;
            }
            write_chunk(tx, now, id, index, &chunk)
        };
        self.store.write(Instant::now() + self.patience, verb).await?;
        self.chunks += 1;
        Ok(())
    }
}

fn write_chunk(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    id: Uuid,
    index: u32,
    chunk: &ChunkRow,
) -> Result<(), Abort<UploadRefusal>> {
    let Some(mut upload) = unexpired(tx, now, id)? else { return Err(UploadRefusal::Expired.into()) };
    upload.chunks = index + 1;
    tx.put(&UPLOADS, &id, &upload)?;
    tx.put(&CHUNKS, &(id, index), chunk)?;
    Ok(())
}

fn unexpired(read: &impl Read, now: Timestamp, id: Uuid) -> Result<Option<UploadRow>, Failure> {
    Ok(read.get(&UPLOADS, &id)?.filter(|upload| upload.deadline.is_none_or(|deadline| deadline > now)))
}

/// Makes a finished upload part of what the transaction writes: from now on it stays until [`release`].
///
/// # Errors
/// Refused if the upload's deadline has passed; the store's failures.
pub fn adopt(tx: &mut WriteTx<'_>, now: Timestamp, value: &LargeValue) -> Result<(), Abort<UploadRefusal>> {
    let Some(upload) = unexpired(tx, now, value.id())? else { return Err(UploadRefusal::Expired.into()) };
    if upload.chunks != value.chunks {
        return Err(Failure::Damaged("an upload has lost chunks".to_owned()).into());
    }
    if let Some(deadline) = upload.deadline {
        tx.delete(&DEADLINES, &(deadline, value.id()));
    }
    tx.put(&UPLOADS, &value.id(), &UploadRow { deadline: None, chunks: upload.chunks })?;
    Ok(())
}

/// Gives an adopted value to the collector. The row that owned it goes in the same transaction.
///
/// # Errors
/// The store's failures.
pub fn release(tx: &mut WriteTx<'_>, now: Timestamp, value: &LargeValue) -> Result<(), Failure> {
    let Some(upload) = tx.get(&UPLOADS, &value.id())? else { return Ok(()) };
    if upload.deadline.is_some() {
        return Ok(());
    }
    tx.put(&UPLOADS, &value.id(), &UploadRow { deadline: Some(now), chunks: upload.chunks })?;
    put_deadline(tx, now, value.id())
}

/// Gives a value to the collector that was never adopted, before its time is over. One that was adopted stays.
///
/// # Errors
/// The store's failures.
pub fn discard(tx: &mut WriteTx<'_>, now: Timestamp, value: &LargeValue) -> Result<(), Failure> {
    let Some(upload) = tx.get(&UPLOADS, &value.id())? else { return Ok(()) };
    let Some(deadline) = upload.deadline.filter(|deadline| *deadline > now) else { return Ok(()) };
    tx.delete(&DEADLINES, &(deadline, value.id()));
    tx.put(&UPLOADS, &value.id(), &UploadRow { deadline: Some(now), chunks: upload.chunks })?;
    put_deadline(tx, now, value.id())
}

fn put_deadline(tx: &mut WriteTx<'_>, deadline: Timestamp, id: Uuid) -> Result<(), Failure> {
    tx.falls_due(DEADLINES_TAG, deadline);
    tx.put(&DEADLINES, &(deadline, id), &DeadlineRow)
}

/// One chunk of a value, counted from 0; `None` behind the last.
///
/// # Errors
/// Refused if whom it is sealed for has been erased. [`Failure::Damaged`] if a chunk that should be there is not, or is
/// not what was sealed; the store's failures.
pub fn read_chunk(
    read: &impl Read,
    value: &LargeValue,
    index: u32,
) -> Result<Option<Zeroizing<Vec<u8>>>, Abort<Erased>> {
    if index >= value.chunks {
        return Ok(None);
    }
    let Some(ChunkRow(chunk)) = read.get(&CHUNKS, &(value.id(), index))? else {
        return Err(Failure::Damaged(format!("chunk {index} of a large value is missing")).into());
    };
    let Some(owner) = value.sealed_for else { return Ok(Some(Zeroizing::new(chunk))) };
    let place = Chunk { owner, upload: value.id(), index, is_last: index + 1 == value.chunks };
    seal::open_chunk(&read.data_key(owner)?, &place, &chunk).map(Some)
}

/// Whether a value that was adopted is still there as it was finished: every chunk, as it is stored. Needs no key.
///
/// # Errors
/// The store's failures.
pub fn is_sound(read: &impl Read, value: &LargeValue) -> Result<bool, Failure> {
    let Some(upload) = read.get(&UPLOADS, &value.id())? else { return Ok(false) };
    if upload.deadline.is_some() || upload.chunks != value.chunks {
        return Ok(false);
    }
    let mut digest = Sha256::new();
    for index in 0..value.chunks {
        let Some(ChunkRow(chunk)) = read.get(&CHUNKS, &(value.id(), index))? else { return Ok(false) };
        digest.update(&chunk);
    }
    let found: [u8; 32] = digest.finalize().into();
    Ok(found == value.sha256)
}

/// The next moment at which the collector has something to do.
///
/// # Errors
/// The store's failures.
pub fn next_deadline(read: &impl Read) -> Result<Option<Timestamp>, Failure> {
    Ok(read.scan(&DEADLINES, Scan::all().limit(1))?.first().map(|((deadline, _), _)| *deadline))
}

/// Removes at most `rows_max` chunks of uploads whose deadline has passed; how many uploads or chunks it removed.
///
/// # Errors
/// The store's failures.
pub fn collect(tx: &mut WriteTx<'_>, now: Timestamp, rows_max: usize) -> Result<usize, Failure> {
    let mut removed = 0;
    while removed < rows_max {
        let Some(((deadline, id), _)) = tx.scan(&DEADLINES, Scan::all().limit(1))?.into_iter().next() else { break };
        if deadline > now {
            break;
        }
        let chunks = tx.scan(&CHUNKS, Scan::prefix(&(id,)).limit(rows_max - removed))?;
        let whole = chunks.len() < rows_max - removed;
        removed += chunks.len();
        for (key, _) in chunks {
            tx.delete(&CHUNKS, &key);
        }
        if whole {
            tx.delete(&DEADLINES, &(deadline, id));
            tx.delete(&UPLOADS, &id);
            removed += 1;
        }
    }
    Ok(removed)
}
