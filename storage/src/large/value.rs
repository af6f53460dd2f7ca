//! Large values: chunks written in earlier transactions, referred to by a last, small one.
//!
//! A 50 MiB upload must not stand in the way of a group commit, so its bytes go in as rows of [`CHUNK_BYTES`] each,
//! in transactions of their own. Until a transaction *adopts* it, the upload has a deadline; after it the collector
//! removes it in small steps. Adoption and collection both look at the upload's row on the writer, so a value is
//! either adopted whole or collected, never both. Who gives an upload up before that, by dropping it, gives its bytes to
//! the collector at once: of what breaks off nothing stays until the deadline.
//!
//! A value may be *sealed* for a [`KeyOwner`]: each chunk by itself, bound to owner, upload and place, the last one
//! marked as such, so that chunks can neither be exchanged nor cut off. Chunks are sealed on the caller's thread; the
//! writer only looks whether the owner still has its key.

use std::convert::Infallible;
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

/// For how long what gives a value to the collector may wait for the writer: nobody waits for it.
const DISCARD_TIME: Duration = Duration::from_secs(60);

/// A value that is not adopted yet. It is given to the collector when this is dropped, unless it was adopted meanwhile.
struct Unowned {
    store: Store,
    id: Uuid,
    /// Whether it is somebody else's from now on.
    is_given_away: bool,
}

impl Drop for Unowned {
    fn drop(&mut self) {
        if self.is_given_away {
            return;
        }
        let id = self.id;
        let verb = move |tx: &mut WriteTx<'_>, now| Ok::<_, Abort<Infallible>>(discard(tx, now, id)?);
        // Behind whatever was written of it. What cannot be discarded now goes at its deadline.
        self.store.free_unattended(Instant::now() + DISCARD_TIME, verb);
    }
}

/// A complete value that somebody needs for a while. It is given to the collector when this is dropped, unless it was
/// adopted meanwhile; what a process leaves behind that ends, at its deadline.
pub struct StagedValue {
    value: LargeValue,
    unowned: Unowned,
}

impl StagedValue {
    /// It.
    #[must_use]
    pub fn value(&self) -> &LargeValue {
        &self.value
    }
}

/// An upload under way. It is given to the collector when this is dropped.
pub struct Upload {
    unowned: Unowned,
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
        let own = store.clone();
        let unowned = store
            .write(Instant::now() + patience, move |tx, now| {
                if let Some(owner) = sealed_for {
                    seal::prepare(tx, owner).map_err(erased)?;
                }
                let id = tx.new_id();
                let deadline = now.plus_seconds(lifetime_seconds);
                tx.put(&UPLOADS, &id, &UploadRow { deadline: Some(deadline), chunks: 0 })?;
                put_deadline(tx, deadline, id)?;
                // A caller who has left takes it along.
                Ok::<_, Abort<UploadRefusal>>(Unowned { store: own, id, is_given_away: false })
            })
            .await?;
        Ok(Upload {
            unowned,
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

    /// Writes what is left and names the value. It still has to be adopted, before its deadline.
    ///
    /// # Errors
    /// As [`Upload::push`].
    pub async fn finish(self) -> Result<LargeValue, Abort<UploadRefusal>> {
        let mut staged = self.stage().await?;
        staged.unowned.is_given_away = true;
        Ok(staged.value)
    }

    /// Writes what is left, for as long as the value is needed or until it is adopted.
    ///
    /// # Errors
    /// As [`Upload::push`].
    pub async fn stage(mut self) -> Result<StagedValue, Abort<UploadRefusal>> {
        // A sealed value has a last chunk even when it is empty: without one it could be cut down to nothing.
        if !self.buffer.is_empty() || self.sealed_for.is_some() {
            self.write_chunk(true).await?;
        }
        let value = LargeValue {
            id: *self.unowned.id.as_bytes(),
            size_bytes: self.size_bytes,
            sha256: self.digest.finalize().into(),
            chunks: self.chunks,
            sealed_for: self.sealed_for,
        };
        Ok(StagedValue { value, unowned: self.unowned })
    }

    async fn write_chunk(&mut self, is_last: bool) -> Result<(), Abort<UploadRefusal>> {
        let (id, index, sealed_for) = (self.unowned.id, self.chunks, self.sealed_for);
        let chunk = match sealed_for {
            Some(owner) => {
                let place = Chunk { owner, upload: id, index, is_last };
                let data_key = self.unowned.store.read().data_key(owner)?;
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
        self.unowned.store.write(Instant::now() + self.patience, verb).await?;
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
fn discard(tx: &mut WriteTx<'_>, now: Timestamp, id: Uuid) -> Result<(), Failure> {
    let Some(upload) = tx.get(&UPLOADS, &id)? else { return Ok(()) };
    let Some(deadline) = upload.deadline.filter(|deadline| *deadline > now) else { return Ok(()) };
    tx.delete(&DEADLINES, &(deadline, id));
    tx.put(&UPLOADS, &id, &UploadRow { deadline: Some(now), chunks: upload.chunks })?;
    put_deadline(tx, now, id)
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

/// Whether every chunk of a value is still there, adopted or not: the collector has not begun with it.
///
/// # Errors
/// The store's failures.
pub fn is_whole(read: &impl Read, value: &LargeValue) -> Result<bool, Failure> {
    Ok(read.get(&UPLOADS, &value.id())?.is_some_and(|upload| upload.chunks == value.chunks))
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
        // Chunks go by their names, the last ones first: what is in them is nobody's any more, and reading it would keep
        // the writer from others.
        let upload = tx.get(&UPLOADS, &id)?;
        if upload.as_ref().is_some_and(|upload| upload.deadline != Some(deadline)) {
            // It is somebody's by now, or has more time.
            tx.delete(&DEADLINES, &(deadline, id));
            removed += 1;
            continue;
        }
        let chunks = upload.map_or(0, |upload| upload.chunks);
        let room = u32::try_from(rows_max - removed).unwrap_or(u32::MAX);
        let left = chunks.saturating_sub(room);
        for index in left..chunks {
            tx.delete(&CHUNKS, &(id, index));
        }
        removed += (chunks - left) as usize;
        if chunks < room {
            tx.delete(&DEADLINES, &(deadline, id));
            tx.delete(&UPLOADS, &id);
            removed += 1;
        } else {
            tx.put(&UPLOADS, &id, &UploadRow { deadline: Some(deadline), chunks: left })?;
        }
    }
    Ok(removed)
}
