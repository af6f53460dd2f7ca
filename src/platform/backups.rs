//! Which backups were made of this appliance: a record each, so that `status` can say how old the last one is.
//!
//! The record is written after the backup is complete, so a backup does not hold its own.

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Family, Read, Row, Scan, Table, Timestamp, WriteTx};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How many records are kept; the oldest go.
pub const KEPT_MAX: usize = 1_000;

/// Backups, by an id that grows with time.
pub(crate) const BACKUPS: Table<Uuid, BackupRow> = Table::new(0x0130, Family::APPLIANCE, "platform.backups");

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct BackupRow {
    finished_at: Timestamp,
    lsn: u64,
    destination: String,
    files: u64,
    bytes: u64,
    with_key: bool,
    duration_millis: u64,
}

impl Row for BackupRow {}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// When it was finished.
    pub finished_at: Timestamp,
    /// What it is.
    pub made: MadeBackup,
}

/// What is told of a backup that was just made, by the command that made it and to whoever asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBackup {
    /// Everything up to this transaction is in it.
    pub lsn: u64,
    /// Where it was put: an absolute path on the machine that made it.
    pub destination: String,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the root key is in it.
    pub with_key: bool,
    /// How long it took, in milliseconds.
    pub duration_millis: u64,
}

impl From<BackupRow> for Backup {
    fn from(row: BackupRow) -> Backup {
        let BackupRow { finished_at, lsn, destination, files, bytes, with_key, duration_millis } = row;
        Backup { finished_at, made: MadeBackup { lsn, destination, files, bytes, with_key, duration_millis } }
    }
}

/// Records a backup and drops the records beyond [`KEPT_MAX`].
///
/// # Errors
/// What the store answers.
pub fn record_backup(tx: &mut WriteTx<'_>, now: Timestamp, made: MadeBackup) -> Result<Backup, Failure> {
    let MadeBackup { lsn, destination, files, bytes, with_key, duration_millis } = made;
    let row = BackupRow { finished_at: now, lsn, destination, files, bytes, with_key, duration_millis };
    let id = tx.new_id();
    tx.put(&BACKUPS, &id, &row)?;
    for (old, _) in tx.scan(&BACKUPS, Scan::all().newest_first())?.into_iter().skip(KEPT_MAX) {
        tx.delete(&BACKUPS, &old);
    }
    Ok(row.into())
}

/// The newest `limit` backups, newest first.
///
/// # Errors
/// What the store answers.
pub fn list_backups(read: &impl Read, limit: usize) -> Result<Vec<Backup>, Failure> {
    let rows = read.scan(&BACKUPS, Scan::all().newest_first().limit(limit))?;
    Ok(rows.into_iter().map(|(_, row)| row.into()).collect())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::{Duration, Instant};

    use quintet_storage::Abort;

    use super::*;
    use crate::testing::TestStore;

    #[test]
    fn the_newest_thousand_are_kept() {
        let test = TestStore::open(Timestamp::from_micros(1_700_000_000_000_000));
        let made = |lsn| MadeBackup {
            lsn,
            destination: "/backups/1".to_owned(),
            files: 7,
            bytes: 4096,
            with_key: true,
            duration_millis: 12,
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        let recorded = test.store.write_blocking(deadline, move |tx, now| {
            for lsn in 0..1_003 {
                record_backup(tx, now, made(lsn))?;
            }
            Ok::<_, Abort<Infallible>>(())
        });
        recorded.unwrap();
        let found = list_backups(&test.store.read(), usize::MAX).unwrap();
        let numbers: Vec<u64> = found.iter().map(|backup| backup.made.lsn).collect();
        assert_eq!(numbers, (3..1_003).rev().collect::<Vec<_>>());
        assert_eq!(found[0].made, made(1_002));
        assert_eq!(list_backups(&test.store.read(), 1).unwrap().len(), 1);
    }
}
