//! A write transaction: a private buffer over the writer's pending writes over the tables.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use super::ids::IdMint;
use super::waking::Notes;
use crate::error::Failure;
use crate::tables::codec::{self, Row};
use crate::tables::family::Family;
use crate::tables::keys::Key;
use crate::tables::projection::{KeyRange, Projection, Visit};
use crate::tables::table::Table;
use crate::time::{Lsn, Timestamp};
use crate::vault::{DATA_KEYS, DataKey, KeyOwner, Vault};
use crate::view::merge::{get_over, part_of, scan_over};
use crate::view::read::{Read, Scan, rows_of};

/// A row as bytes; `None`: deleted.
pub(crate) type Stored = Option<Arc<[u8]>>;
/// A row as its type.
type Decoded = Arc<dyn Any + Send + Sync>;

/// A write that is decided but not yet applied to the tables.
#[derive(Clone, Debug)]
pub(crate) struct PendingRow {
    /// The transaction that wrote it.
    pub(crate) lsn: Lsn,
    pub(crate) value: Stored,
}

/// The writer's pending writes, by key. Only the writer sees them.
pub(crate) type Pending = BTreeMap<Arc<[u8]>, PendingRow>;

/// Decoded rows of hot tables, always equal to the newest decided state; also which rows there are none of, for that is
/// asked as often.
#[derive(Default)]
pub(crate) struct HotRows {
    rows: HashMap<Arc<[u8]>, HotRow>,
    /// About how much is kept: the encoded length of all rows and keys, and what the map takes.
    bytes: usize,
}

/// What is known of a row, and about how much that takes.
struct HotRow {
    row: Option<Decoded>,
    bytes: usize,
}

/// At so many bytes all decoded rows are dropped and warm up again.
const HOT_BYTES_MAX: usize = 32 << 20;
/// What the map takes for an entry, beside key and row.
const HOT_ENTRY_BYTES: usize = 96;

impl HotRows {
    /// Keeps a row whose encoded form has `bytes`, or that there is none.
    pub(crate) fn insert(&mut self, key: Arc<[u8]>, row: Option<Decoded>, bytes: usize) {
        if self.bytes >= HOT_BYTES_MAX {
            self.clear();
        }
        let bytes = HOT_ENTRY_BYTES + key.len() + bytes;
        self.bytes += bytes;
        if let Some(before) = self.rows.insert(key, HotRow { row, bytes }) {
            self.bytes -= before.bytes;
        }
    }

    /// What is known of a row: that there is one, or none.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Option<Decoded>> {
        self.rows.get(key).map(|known| &known.row)
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        if let Some(before) = self.rows.remove(key) {
            self.bytes -= before.bytes;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.bytes = 0;
    }
}

/// One row in a transaction's private buffer.
#[derive(Clone)]
pub(crate) struct BufferedRow {
    pub(crate) value: Stored,
    pub(crate) decoded: Option<Decoded>,
}

/// What the writer lends to a transaction.
pub(crate) struct Lent<'w> {
    pub(crate) tables: &'w dyn Projection,
    pub(crate) pending: &'w Pending,
    pub(crate) hot: &'w RefCell<HotRows>,
    pub(crate) ids: &'w mut IdMint,
    pub(crate) vault: &'w Arc<Vault>,
    pub(crate) now: Timestamp,
    /// The most that a transaction may write, in bytes.
    pub(crate) bytes_max: usize,
}

/// A write transaction, lent to a verb by the one writer.
///
/// It sees its own writes and those of every transaction before it. Nothing of it is visible to anyone until
/// the verb has returned `Ok` and the log has it on disk.
pub struct WriteTx<'w> {
    lent: Lent<'w>,
    buffer: BTreeMap<Arc<[u8]>, BufferedRow>,
    /// What each write within a savepoint replaced in the buffer, newest last: the way back.
    undo: Vec<(Arc<[u8]>, Option<BufferedRow>)>,
    /// Savepoints that are open, one within the other.
    savepoints: usize,
    bytes: usize,
    notes: Notes,
}

/// What a transaction leaves behind.
pub(crate) struct Writes {
    pub(crate) rows: BTreeMap<Arc<[u8]>, BufferedRow>,
    /// About how many bytes they are.
    pub(crate) bytes: usize,
    pub(crate) notes: Notes,
}

impl<'w> WriteTx<'w> {
    pub(crate) fn new(lent: Lent<'w>) -> WriteTx<'w> {
        WriteTx { lent, buffer: BTreeMap::new(), undo: Vec::new(), savepoints: 0, bytes: 0, notes: Notes::default() }
    }

    /// Everything the transaction wrote.
    pub(crate) fn into_writes(self) -> Writes {
        Writes { rows: self.buffer, bytes: self.bytes, notes: self.notes }
    }

    /// About how many bytes it has written so far. Whoever has much to write stops well before
    /// [`Options::transaction_bytes_max`](crate::Options::transaction_bytes_max), beyond which nothing is written at all.
    #[must_use]
    pub fn written_bytes(&self) -> usize {
        self.bytes
    }

    /// Whether what it has written so far can be committed, with some room for what is small. For work that does not depend
    /// on the rest of the transaction: in a savepoint it is undone where it does not fit.
    ///
    /// # Errors
    /// [`Failure::TooLarge`] if it cannot.
    pub fn check_size(&self) -> Result<(), Failure> {
        if self.bytes > self.lent.bytes_max - self.lent.bytes_max / 16 { Err(Failure::TooLarge) } else { Ok(()) }
    }

    /// The keys of sealed values.
    pub(crate) fn vault(&self) -> Arc<Vault> {
        Arc::clone(self.lent.vault)
    }

    /// The instant that the verb was given.
    pub(crate) fn now(&self) -> Timestamp {
        self.lent.now
    }

    /// A new identifier: UUID version 7 (RFC 9562), strictly greater than every one given before it, so that the
    /// order of identifiers is the order of the log.
    pub fn new_id(&mut self) -> Uuid {
        self.lent.ids.mint(self.lent.now)
    }

    /// Writes a row.
    ///
    /// # Errors
    /// [`Failure::Damaged`] if the row's type cannot be encoded.
    pub fn put<K: Key, V: Row>(&mut self, table: &Table<K, V>, key: &K, value: &V) -> Result<(), Failure> {
        let spec = table.spec();
        let bytes = codec::encode_row(value)?;
        let decoded: Option<Decoded> = if spec.hot { Some(Arc::new(value.clone())) } else { None };
        let row = BufferedRow { value: Some(bytes.into()), decoded };
        self.buffer_row(table.key_bytes(key), row);
        Ok(())
    }

    /// Removes a row; nothing happens if there is none.
    pub fn delete<K: Key, V: Row>(&mut self, table: &Table<K, V>, key: &K) {
        let row = BufferedRow { value: None, decoded: None };
        self.buffer_row(table.key_bytes(key), row);
    }

    /// Notes that a row which this transaction writes to the due table of tag `agenda` falls due at `at`. Once the
    /// transaction is published, the listener of [`Store::on_due`](crate::Store::on_due) is told. A note is not stored,
    /// and goes with what is undone: a savepoint, a refusal, a failure.
    pub fn falls_due(&mut self, agenda: u16, at: Timestamp) {
        self.notes.due.note(agenda, at);
    }

    /// Leaves a note for those who wait for one thing among many: that the rows which this transaction writes reach
    /// `number` in what `of` names. `topic` is a constant of the room. Once the transaction is published, the listener of
    /// [`Store::on_told`](crate::Store::on_told) for that topic is told; of what is noted for the same `topic` and `of`,
    /// the greatest number. A note is not stored, and goes with what is undone: a savepoint, a refusal, a failure. A
    /// transaction that writes no row has nothing to tell of.
    pub fn tells(&mut self, topic: u16, of: u64, number: u64) {
        self.notes.told.note(topic, of, number);
    }

    fn buffer_row(&mut self, key: Vec<u8>, row: BufferedRow) {
        self.bytes += key.len() + row.value.as_ref().map_or(0, |value| value.len());
        let key: Arc<[u8]> = key.into();
        if self.savepoints == 0 {
            self.buffer.insert(key, row);
        } else {
            let before = self.buffer.insert(Arc::clone(&key), row);
            self.undo.push((key, before));
        }
    }

    /// Runs a part that may be undone alone: on `Err` everything it wrote is gone and the transaction goes on.
    ///
    /// # Errors
    /// What `part` returns.
    pub fn savepoint<T, E>(&mut self, part: impl FnOnce(&mut WriteTx<'w>) -> Result<T, E>) -> Result<T, E> {
        let mark = self.undo.len();
        let bytes = self.bytes;
        let notes = self.notes.mark();
        self.savepoints += 1;
        let outcome = part(self);
        self.savepoints -= 1;
        if outcome.is_err() {
            while self.undo.len() > mark {
                match self.undo.pop() {
                    Some((key, Some(before))) => drop(self.buffer.insert(key, before)),
                    Some((key, None)) => drop(self.buffer.remove(&key)),
                    None => break,
                }
            }
            self.bytes = bytes;
            self.notes.undo_to(notes);
        } else if self.savepoints == 0 {
            self.undo.clear();
        }
        outcome
    }

    /// The newest bytes under a key: own writes, then the writer's pending ones, then the tables.
    fn with_stored(&self, family: Family, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        let newer = self.buffer.get(key).map(|row| &row.value);
        let newer = newer.or_else(|| self.lent.pending.get(key).map(|row| &row.value));
        get_over(newer.map(Option::as_deref), visit, |visit| self.lent.tables.get(family, key, visit))
    }

    fn get_hot<V: Row>(&self, key: Vec<u8>, family: Family) -> Result<Option<V>, Failure> {
        let typed = |row: &Decoded| row.downcast_ref::<V>().cloned();
        match self.buffer.get(key.as_slice()) {
            Some(BufferedRow { value: None, .. }) => return Ok(None),
            Some(BufferedRow { decoded: Some(row), .. }) => return Ok(typed(row)),
            _ => {}
        }
        match self.lent.hot.borrow().get(key.as_slice()) {
            Some(Some(row)) => {
                if let Some(row) = typed(row) {
                    return Ok(Some(row));
                }
            }
            Some(None) => return Ok(None),
            None => {}
        }
        let mut row = None;
        let mut bytes = 0;
        self.with_stored(family, &key, &mut |stored| {
            bytes = stored.len();
            row = Some(codec::decode_row::<V>(stored));
        })?;
        let row = row.transpose()?;
        let decoded = row.clone().map(|row| Arc::new(row) as Decoded);
        self.lent.hot.borrow_mut().insert(key.into(), decoded, bytes);
        Ok(row)
    }

    fn decode_stored<V: Row>(&self, family: Family, key: &[u8]) -> Result<Option<V>, Failure> {
        let mut row = None;
        self.with_stored(family, key, &mut |bytes| row = Some(codec::decode_row(bytes)))?;
        row.transpose()
    }

    /// Walks a range as this transaction sees it; `visit` ends the walk with `false`.
    fn walk(&self, family: Family, range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure> {
        let own = part_of(&self.buffer, range, |row| row.value.as_deref());
        let pending = part_of(self.lent.pending, range, |row| row.value.as_deref());
        scan_over(own, range, visit, |visit| {
            scan_over(pending, range, visit, |visit| self.lent.tables.scan(family, range, visit))
        })
    }
}

impl Read for WriteTx<'_> {
    fn get<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure> {
        let spec = table.spec();
        let key = table.key_bytes(key);
        if spec.hot { self.get_hot(key, spec.family) } else { self.decode_stored(spec.family, &key) }
    }

    fn contains<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure> {
        self.with_stored(table.spec().family, &table.key_bytes(key), &mut |_| {})
    }

    fn scan<K: Key, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure> {
        rows_of(table, &scan, |range, visit| self.walk(table.spec().family, range, visit))
    }

    fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
        self.lent.vault.key_of(owner, self.get(&DATA_KEYS, &owner.key())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is put, replaced and removed, what is counted is what is there.
    #[test]
    fn decoded_rows_are_counted() {
        let mut rows = HotRows::default();
        let key = |number: u32| -> Arc<[u8]> { number.to_be_bytes().to_vec().into() };
        let row = || Some(Arc::new(7_u8) as Decoded);
        for number in 0..100 {
            rows.insert(key(number), None, 0);
            rows.insert(key(number), row(), 1 << 20);
        }
        assert!(rows.bytes < HOT_BYTES_MAX + (2 << 20) && rows.rows.len() < 40, "{}", rows.bytes);
        for number in 0..100 {
            rows.insert(key(number), row(), 10);
            rows.remove(&key(number));
        }
        assert_eq!((rows.bytes, rows.rows.len()), (0, 0));
    }
}
