//! Large values: chunks written in earlier transactions, referred to by a last, small one.
//!
//! A 50 MiB upload must not stand in the way of a group commit, so its bytes go in as rows of [`CHUNK_BYTES`] each,
//! in transactions of their own. Until a transaction *adopts* it, the upload has a deadline; after it the collector
//! removes it in small steps. Adoption and collection both look at the upload's row on the writer, so a value is
//! either adopted whole or collected, never both.

use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::codec::Row;
use crate::error::{Abort, Failure, Refusal};
use crate::read::{Read, Scan};
use crate::store::Store;
use crate::table::{Family, Table, TableSpec};
use crate::time::Timestamp;
use crate::tx::WriteTx;

/// Bytes in every chunk but the last.
pub const CHUNK_BYTES: usize = 256 << 10;

const UPLOADS: Table<Uuid, UploadRow> = Table::new(0x0001, Family::Large, "large_uploads");
const CHUNKS: Table<(Uuid, u32), ChunkRow> = Table::new(0x0002, Family::Large, "large_chunks");
const DEADLINES: Table<(Timestamp, Uuid), DeadlineRow> = Table::new(0x0003, Family::Large, "large_deadlines");

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
struct ChunkRow(Vec<u8>);
impl Row for ChunkRow {}

#[derive(Clone, Debug, Encode, Decode)]
struct DeadlineRow;
impl Row for DeadlineRow {}

/// A complete large value; rows that own one store this.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LargeValue {
    id: [u8; 16],
    /// Its length in bytes.
    pub size_bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
    chunks: u32,
}

impl LargeValue {
    fn id(&self) -> Uuid {
        Uuid::from_bytes(self.id)
    }
}

/// The upload is gone: its deadline had passed before it was finished or adopted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadExpired;
impl Refusal for UploadExpired {}

/// An upload under way.
pub struct Upload {
    store: Store,
    id: Uuid,
    chunks: u32,
    buffer: Vec<u8>,
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
    ) -> Result<Upload, Abort<UploadExpired>> {
        let id = store
            .write(Instant::now() + patience, move |tx, now| {
                let id = tx.new_id();
                let deadline = now.plus_seconds(lifetime_seconds);
                tx.put(&UPLOADS, &id, &UploadRow { deadline: Some(deadline), chunks: 0 })?;
                tx.put(&DEADLINES, &(deadline, id), &DeadlineRow)?;
                Ok::<_, Abort<UploadExpired>>(id)
            })
            .await?;
        Ok(Upload {
            store: store.clone(),
            id,
            chunks: 0,
            buffer: Vec::new(),
            size_bytes: 0,
            digest: Sha256::new(),
            patience,
        })
    }

    /// Adds bytes; full chunks are durable when this returns.
    ///
    /// # Errors
    /// Refused if the upload's deadline has passed; the store's failures.
    pub async fn push(&mut self, mut bytes: &[u8]) -> Result<(), Abort<UploadExpired>> {
        self.digest.update(bytes);
        self.size_bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = CHUNK_BYTES - self.buffer.len();
            let (head, rest) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(head);
            bytes = rest;
            if self.buffer.len() == CHUNK_BYTES {
                self.write_chunk().await?;
            }
        }
        Ok(())
    }

    /// Writes what is left and names the value. It still has to be adopted.
    ///
    /// # Errors
    /// As [`Upload::push`].
    pub async fn finish(mut self) -> Result<LargeValue, Abort<UploadExpired>> {
        if !self.buffer.is_empty() {
            self.write_chunk().await?;
        }
        Ok(LargeValue {
            id: *self.id.as_bytes(),
            size_bytes: self.size_bytes,
            sha256: self.digest.finalize().into(),
            chunks: self.chunks,
        })
    }

    async fn write_chunk(&mut self) -> Result<(), Abort<UploadExpired>> {
        let (id, index) = (self.id, self.chunks);
        let chunk = ChunkRow(std::mem::take(&mut self.buffer));
        let verb = move |tx: &mut WriteTx<'_>, now| write_chunk(tx, now, id, index, &chunk);
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
) -> Result<(), Abort<UploadExpired>> {
    let Some(mut upload) = unexpired(tx, now, id)? else { return Err(UploadExpired.into()) };
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
pub fn adopt(tx: &mut WriteTx<'_>, now: Timestamp, value: &LargeValue) -> Result<(), Abort<UploadExpired>> {
    let Some(upload) = unexpired(tx, now, value.id())? else { return Err(UploadExpired.into()) };
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
    tx.put(&DEADLINES, &(now, value.id()), &DeadlineRow)
}

/// One chunk of a value, counted from 0; `None` behind the last.
///
/// # Errors
/// [`Failure::Damaged`] if a chunk that should be there is not; the store's failures.
pub fn read_chunk(read: &impl Read, value: &LargeValue, index: u32) -> Result<Option<Vec<u8>>, Failure> {
    if index >= value.chunks {
        return Ok(None);
    }
    match read.get(&CHUNKS, &(value.id(), index))? {
        Some(chunk) => Ok(Some(chunk.0)),
        None => Err(Failure::Damaged(format!("chunk {index} of a large value is missing"))),
    }
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
