//! Reading: what snapshots and write transactions have in common.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::codec::{self, Row};
use crate::error::Failure;
use crate::keys::{self, Key, KeyPrefix};
use crate::log::Lsn;
use crate::projection::{KeyRange, ProjectionRead};
use crate::seal::{DataKey, KeyOwner, Vault};
use crate::table::Table;
use crate::time::Timestamp;

/// Typed reads. Implemented by [`Snapshot`] and [`WriteTx`](crate::WriteTx), so that a rule that only reads can be
/// used in both.
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

    pub(crate) fn row_limit(&self) -> usize {
        self.limit
    }

    /// The range of stored keys. Every stored key of one table has the same length class, so that
    /// "the key and a zero byte" is the next possible key.
    pub(crate) fn range(&self, tag: u16) -> KeyRange {
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

/// Decodes a stored key behind its table tag.
pub(crate) fn decode_key<K: Key>(stored: &[u8]) -> Result<K, Failure> {
    let mut rest = stored.get(2..).unwrap_or_default();
    let key = K::decode(&mut rest)?;
    if rest.is_empty() { Ok(key) } else { Err(Failure::Damaged("a key has bytes left over".to_owned())) }
}

/// For how long a reader may hold a snapshot.
pub(crate) const SNAPSHOT_LIFETIME: Duration = Duration::from_secs(30);

/// A published state of all tables: durable, unchanging, cheap to take.
///
/// It is for one request and answers for 30 seconds: while it lives, what it sees cannot be compacted away. Longer
/// work goes page by page, each with a snapshot of its own.
#[derive(Clone)]
pub struct Snapshot {
    rows: Arc<dyn ProjectionRead>,
    lsn: Lsn,
    time: Timestamp,
    vault: Option<Arc<Vault>>,
    /// From when on it answers no more.
    expires: Option<Instant>,
}

impl Snapshot {
    pub(crate) fn new(rows: Arc<dyn ProjectionRead>, lsn: Lsn, time: Timestamp) -> Snapshot {
        Snapshot { rows, lsn, time, vault: None, expires: None }
    }

    /// The same, lent to a reader who must be done by `expires`.
    pub(crate) fn until(mut self, expires: Instant) -> Snapshot {
        self.expires = Some(expires);
        self
    }

    /// The rows, unless the reader has kept them for too long.
    fn rows(&self) -> Result<&dyn ProjectionRead, Failure> {
        match self.expires {
            Some(expires) if Instant::now() > expires => {
                Err(Failure::Io(format!("a snapshot was held for more than {} s", SNAPSHOT_LIFETIME.as_secs())))
            }
            _ => Ok(self.rows.as_ref()),
        }
    }

    /// The same with the keys of sealed values.
    pub(crate) fn with_vault(mut self, vault: &Arc<Vault>) -> Snapshot {
        self.vault = Some(Arc::clone(vault));
        self
    }

    /// The writer's time at that transaction.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// The last transaction this state includes.
    #[must_use]
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }
}

impl Read for Snapshot {
    fn get<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure> {
        let mut row = None;
        self.rows()?
            .get(table.spec().family, &table.key_bytes(key), &mut |bytes| row = Some(codec::decode_row(bytes)))?;
        row.transpose()
    }

    fn contains<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure> {
        self.rows()?.get(table.spec().family, &table.key_bytes(key), &mut |_| {})
    }

    fn scan<K: Key, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure> {
        let mut rows = Vec::new();
        let mut fault = None;
        if scan.row_limit() == 0 {
            return Ok(rows);
        }
        self.rows()?.scan(table.spec().family, &scan.range(table.spec().tag), &mut |key, value| {
            match decode_key(key).and_then(|key| Ok((key, codec::decode_row(value)?))) {
                Ok(row) => rows.push(row),
                Err(failure) => fault = Some(failure),
            }
            fault.is_none() && rows.len() < scan.row_limit()
        })?;
        fault.map_or(Ok(rows), Err)
    }

    fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
        match &self.vault {
            Some(vault) => vault.newest_key(owner),
            None => Err(Failure::Io("this snapshot has no keys".to_owned())),
        }
    }
}
