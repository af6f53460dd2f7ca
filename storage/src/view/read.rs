//! Reading: what snapshots and write transactions have in common.

use std::marker::PhantomData;

use crate::error::Failure;
use crate::tables::codec::{self, Row};
use crate::tables::keys::{self, Key, KeyPrefix, decode_key};
use crate::tables::projection::{KeyRange, Visit};
use crate::tables::table::Table;
use crate::vault::{DataKey, KeyOwner};

/// Typed reads. Implemented by [`Snapshot`](crate::Snapshot) and [`WriteTx`](crate::WriteTx), so that a rule that only
/// reads can be used in both.
pub trait Read {
    /// The row under a key.
    ///
    /// # Errors
    /// [`Failure::Damaged`] or [`Failure::Io`] if it cannot be read back as written.
    fn get<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure>;

    /// Whether there is a row under a key.
    ///
    /// # Errors
    /// As [`Read::get`].
    fn contains<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure>;

    /// The rows of a range, in the order the scan asks for.
    ///
    /// # Errors
    /// As [`Read::get`].
    fn scan<K: Key, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure>;

    /// What may be done with an owner's sealed values, for [`seal`](crate::seal): in the newest durable state, however
    /// old the snapshot is; in a transaction, as that sees it.
    ///
    /// # Errors
    /// As [`Read::get`]; [`Failure::Io`] if the store has not been given its root key.
    fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure>;
}

/// Which rows of a table, in which order, how many at most.
#[derive(Clone, Debug)]
pub struct Scan<K> {
    prefix: Vec<u8>,
    after: Option<Vec<u8>>,
    from: Option<Vec<u8>>,
    until: Option<Vec<u8>>,
    newest_first: bool,
    limit: usize,
    keys: PhantomData<fn() -> K>,
}

impl<K: Key> Scan<K> {
    /// The whole table, ascending.
    #[must_use]
    pub fn all() -> Self {
        Scan {
            prefix: Vec::new(),
            after: None,
            from: None,
            until: None,
            newest_first: false,
            limit: usize::MAX,
            keys: PhantomData,
        }
    }

    /// The rows whose keys begin with these parts, ascending.
    #[must_use]
    pub fn prefix(prefix: &impl KeyPrefix<K>) -> Self {
        let mut scan = Self::all();
        prefix.encode_prefix(&mut scan.prefix);
        scan
    }

    /// Only rows behind `key` in the scan's own order.
    #[must_use]
    pub fn after(mut self, key: &K) -> Self {
        self.after = Some(encoded(key));
        self
    }

    /// Only rows at `key` or above it.
    #[must_use]
    pub fn from(mut self, key: &K) -> Self {
        self.from = Some(encoded(key));
        self
    }

    /// Only rows below `key`.
    #[must_use]
    pub fn until(mut self, key: &K) -> Self {
        self.until = Some(encoded(key));
        self
    }

    /// Descending: for keys that grow with time, newest first.
    #[must_use]
    pub fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// At most so many rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    /// At most so many rows, and no more than it was limited to before.
    #[must_use]
    pub fn at_most(mut self, rows: usize) -> Self {
        self.limit = self.limit.min(rows);
        self
    }

    /// The range of stored keys. The next string of bytes behind a key is the key and a zero byte.
    fn range(&self, tag: u16) -> KeyRange {
        let tagged = |key: &[u8]| [&tag.to_be_bytes(), key].concat();
        let prefix = tagged(&self.prefix);
        let mut lower = prefix.clone();
        let mut upper = keys::after_prefix(&prefix);
        let mut raise = |candidate: Vec<u8>| {
            if candidate > lower {
                lower = candidate;
            }
        };
        if let Some(from) = &self.from {
            raise(tagged(from));
        }
        if let (Some(after), false) = (&self.after, self.newest_first) {
            let mut next = tagged(after);
            next.push(0);
            raise(next);
        }
        let mut cut = |candidate: Vec<u8>| {
            if upper.as_ref().is_none_or(|upper| candidate < *upper) {
                upper = Some(candidate);
            }
        };
        if let Some(until) = &self.until {
            cut(tagged(until));
        }
        if let (Some(after), true) = (&self.after, self.newest_first) {
            cut(tagged(after));
        }
        KeyRange { lower, upper, descending: self.newest_first }
    }
}

fn encoded<K: Key>(key: &K) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(48);
    key.encode(&mut bytes);
    bytes
}

/// Decodes the rows that a walk over the scan's range meets, as many as the scan wants.
pub(crate) fn rows_of<K: Key, V: Row>(
    table: &Table<K, V>,
    scan: &Scan<K>,
    walk: impl FnOnce(&KeyRange, Visit<'_>) -> Result<(), Failure>,
) -> Result<Vec<(K, V)>, Failure> {
    let mut rows = Vec::new();
    let mut fault = None;
    if scan.limit == 0 {
        return Ok(rows);
    }
    walk(&scan.range(table.spec().tag), &mut |key, value| {
        match decode_key(key).and_then(|key| Ok((key, codec::decode_row(value)?))) {
            Ok(row) => rows.push(row),
            Err(failure) => fault = Some(failure),
        }
        fault.is_none() && rows.len() < scan.limit
    })?;
    fault.map_or(Ok(rows), Err)
}
