//! Snapshots: what readers see of the tables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::read::{Read, Scan, rows_of};
use crate::error::Failure;
use crate::tables::codec::{self, Row};
use crate::tables::keys::{Key, after_prefix};
use crate::tables::projection::{KeyRange, ProjectionRead};
use crate::tables::table::{Table, TableSpec};
use crate::tables::version::ROWS_FORMAT;
use crate::time::{Lsn, Timestamp};
use crate::vault::{DATA_KEYS, DataKey, KeyOwner, KeyRing, Vault};

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
    keys: Keys,
    /// From when on it answers no more.
    expires: Option<Instant>,
}

/// What opens sealed values.
#[derive(Clone)]
enum Keys {
    /// Nothing.
    None,
    /// The running store's.
    Vault(Arc<Vault>),
    /// Root keys that somebody brought, over the data keys of this state.
    Ring(Arc<KeyRing>),
}

impl Snapshot {
    pub(crate) fn new(rows: Arc<dyn ProjectionRead>, lsn: Lsn, time: Timestamp) -> Snapshot {
        Snapshot { rows, lsn, time, keys: Keys::None, expires: None }
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
        self.keys = Keys::Vault(Arc::clone(vault));
        self
    }

    /// The same, which opens sealed values with these root keys: for tools that look at a directory nobody runs.
    #[must_use]
    pub fn with_root_keys(mut self, ring: KeyRing) -> Snapshot {
        self.keys = Keys::Ring(Arc::new(ring));
        self
    }

    /// The writer's time at that transaction.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// The version that the rows have, in a directory that was made in version `made`.
    ///
    /// # Errors
    /// As [`Read::get`].
    pub(crate) fn rows_version(&self, made: u32) -> Result<u32, Failure> {
        Ok(self.get(&ROWS_FORMAT, &())?.map_or(made, |row| row.version))
    }

    /// Hands a table's keys and rows to `visit` as they are stored, until it says `false`; for tools.
    ///
    /// # Errors
    /// As [`Read::get`].
    pub fn stored_rows(&self, table: &TableSpec, visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Failure> {
        let lower = table.tag.to_be_bytes().to_vec();
        let range = KeyRange { upper: after_prefix(&lower), lower, descending: false };
        self.rows()?.scan(table.family, &range, visit)
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
        let rows = self.rows()?;
        rows_of(table, &scan, |range, visit| rows.scan(table.spec().family, range, visit))
    }

    fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
        match &self.keys {
            Keys::Vault(vault) => vault.newest_key(owner),
            Keys::Ring(ring) => DataKey::under(ring, owner, self.get(&DATA_KEYS, &owner.key())?),
            Keys::None => Err(Failure::Io("this snapshot has no keys".to_owned())),
        }
    }
}
