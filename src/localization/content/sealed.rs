//! Large values of a tenant, sealed: the bytes of files, lists of their keys, what uploads changed, key context.
//!
//! They are stored in small transactions that nobody sees, and adopted by the one that publishes what they belong to.

use std::io;
use std::time::Duration;

use quintet_storage::large::{self, LargeValue, StagedValue, Upload, UploadRefusal};
use quintet_storage::seal::{Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Store, Timestamp, WriteTx};

use crate::context::WRITER_TIME;
use crate::model::TenantId;
use crate::refusal::Refusal;

/// For how long what was stored is kept until it is published, in seconds.
const LIFETIME_SECONDS: i64 = 1800;

/// Begins a value.
///
/// # Errors
/// Only the store's.
pub async fn begin(store: &Store, tenant_id: TenantId) -> Result<Upload, Abort<Refusal>> {
    const PATIENCE: Duration = WRITER_TIME;
    let begun = Upload::begin_sealed(store, KeyOwner::Tenant(tenant_id.0), LIFETIME_SECONDS, PATIENCE).await;
    begun.map_err(refused)
}

/// Stores a value, until it is adopted.
///
/// # Errors
/// [`Refusal::UploadExpired`] if it took longer than such values are kept.
pub async fn store_value(store: &Store, tenant_id: TenantId, bytes: &[u8]) -> Result<StagedValue, Abort<Refusal>> {
    let mut upload = begin(store, tenant_id).await?;
    upload.push(bytes).await.map_err(refused)?;
    upload.stage().await.map_err(refused)
}

/// Stores for a while what is made piece by piece, and nobody publishes.
///
/// # Errors
/// As [`store_value`].
pub async fn stage_value(
    store: &Store,
    tenant_id: TenantId,
    pieces: impl Iterator<Item = Vec<u8>>,
) -> Result<StagedValue, Abort<Refusal>> {
    let mut upload = begin(store, tenant_id).await?;
    for piece in pieces {
        upload.push(&piece).await.map_err(refused)?;
    }
    upload.stage().await.map_err(refused)
}

/// Some bytes of a value.
///
/// # Errors
/// As [`Parts::read`].
pub fn read_part(read: &impl Read, value: &LargeValue, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
    Parts::of(read, value).read(offset, length)
}

/// Makes a value part of what the transaction writes.
///
/// # Errors
/// [`Refusal::UploadExpired`] if it took so long that the value was collected.
pub fn adopt(tx: &mut WriteTx<'_>, now: Timestamp, value: &LargeValue) -> Result<(), Abort<Refusal>> {
    large::adopt(tx, now, value).map_err(refused)
}

/// Why a value was not stored, in this room's words.
pub fn refused(abort: Abort<UploadRefusal>) -> Abort<Refusal> {
    match abort {
        Abort::Refused(UploadRefusal::Expired) => Abort::Refused(Refusal::UploadExpired),
        Abort::Refused(UploadRefusal::Erased) => Abort::Failed(tenant_erased()),
        Abort::Failed(failure) => Abort::Failed(failure),
    }
}

/// Whoever still has a key of an erased tenant is turned away before.
fn tenant_erased() -> Failure {
    Failure::Io("the tenant has been erased".to_owned())
}

fn open_chunk(read: &impl Read, value: &LargeValue, index: u32) -> Result<Option<Vec<u8>>, Failure> {
    match large::read_chunk(read, value, index) {
        Ok(chunk) => Ok(chunk.map(|mut chunk| std::mem::take(&mut *chunk))),
        Err(Abort::Failed(failure)) => Err(failure),
        Err(Abort::Refused(Erased)) => Err(tenant_erased()),
    }
}

/// All bytes of a value.
///
/// # Errors
/// Only the store's.
pub fn read_all(read: &impl Read, value: &LargeValue) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(usize::try_from(value.size_bytes).unwrap_or(0));
    let mut index = 0;
    while let Some(chunk) = open_chunk(read, value, index)? {
        bytes.extend_from_slice(&chunk);
        index += 1;
    }
    Ok(bytes)
}

/// Reads a value from its beginning, chunk by chunk, each in a state of its own: it may take longer than one state can be
/// looked at.
pub struct ValueReader<'s> {
    store: &'s Store,
    value: LargeValue,
    index: u32,
    chunk: Vec<u8>,
    at: usize,
    /// Why it could not go on, if it could not.
    pub failure: Option<Failure>,
}

impl<'s> ValueReader<'s> {
    /// Nothing is read yet.
    pub fn of(store: &'s Store, value: LargeValue) -> Self {
        ValueReader { store, value, index: 0, chunk: Vec::new(), at: 0, failure: None }
    }
}

impl io::Read for ValueReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.chunk.len() {
            match open_chunk(&self.store.read(), &self.value, self.index) {
                Ok(chunk) => self.chunk = chunk.unwrap_or_default(),
                Err(failure) => {
                    self.failure = Some(failure);
                    return Err(io::Error::other("a stored value could not be read"));
                }
            }
            self.index += 1;
            self.at = 0;
        }
        let read = self.chunk.get(self.at..).unwrap_or_default().read(into)?;
        self.at += read;
        Ok(read)
    }
}

/// Reads parts of a value, one behind the other: a chunk that two of them share is opened once.
pub struct Parts<'v, R> {
    read: &'v R,
    value: &'v LargeValue,
    held: Option<(u32, Vec<u8>)>,
    /// How many bytes have been opened.
    pub opened_bytes: usize,
}

impl<'v, R: Read> Parts<'v, R> {
    /// Nothing is read yet.
    pub fn of(read: &'v R, value: &'v LargeValue) -> Self {
        Parts { read, value, held: None, opened_bytes: 0 }
    }

    /// Some of its bytes.
    ///
    /// # Errors
    /// The store's; [`Failure::Damaged`] if the value is shorter.
    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
        let chunk_bytes = large::CHUNK_BYTES as u64;
        let (mut at, end) = (offset, offset + u64::from(length));
        let mut bytes = Vec::with_capacity(length as usize);
        while at < end {
            let index = u32::try_from(at / chunk_bytes).map_err(|_| Failure::TooLarge)?;
            let from = usize::try_from(at % chunk_bytes).unwrap_or(0);
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX);
            let chunk = self.chunk(index)?;
            let part = chunk.get(from..from.saturating_add(wanted).min(chunk.len())).filter(|part| !part.is_empty());
            let part = part.ok_or_else(|| Failure::Damaged("a large value is shorter than its parts".to_owned()))?;
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    fn chunk(&mut self, index: u32) -> Result<&[u8], Failure> {
        let held = match self.held.take() {
            Some((held, chunk)) if held == index => chunk,
            _ => {
                let chunk = open_chunk(self.read, self.value, index)?.unwrap_or_default();
                self.opened_bytes += chunk.len();
                chunk
            }
        };
        Ok(&self.held.insert((index, held)).1)
    }
}
