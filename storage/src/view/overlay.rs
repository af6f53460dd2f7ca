//! Looking at a data directory without changing it: tables opened read-only, with what the log adds laid over them in
//! memory. For `verify`, salvage and views of a checkpoint; what is published is a [`Snapshot`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::merge::{get_over, part_of, scan_over};
use super::snapshot::Snapshot;
use crate::env::Disk;
use crate::env::real::make_private_directory;
use crate::error::{Failure, OpenError};
use crate::hex::hexadecimal;
use crate::log::Trust;
use crate::log::format::{self, Op};
use crate::log::recovery::{self, Recovered};
use crate::tables::family::Family;
use crate::tables::projection::{Applied, KeyRange, Projection, ProjectionRead, Visit};
use crate::tables::registry::Registry;
use crate::tables::rocks::{RocksOptions, RocksProjection};

/// Memory for looking: it is read through once.
const LOOKING: RocksOptions = RocksOptions { write_buffer_bytes: 1 << 20, block_cache_bytes: 16 << 20 };

/// Rows by family and key; `None`: deleted.
type Rows = BTreeMap<Family, BTreeMap<Vec<u8>, Option<Vec<u8>>>>;

/// Tables that nobody writes to, and newer rows over them.
pub(crate) struct Overlay {
    /// None: everything is in the log.
    base: Option<RocksProjection>,
    newer: Rows,
    applied: Applied,
    /// RocksDB's own log files of the read-only opening.
    _scratch: Option<Scratch>,
}

/// A directory that goes with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Scratch> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let name = format!("quintet-{}", hexadecimal(&random));
        let path = std::env::temp_dir().join(name);
        make_private_directory(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind in the directory for temporary files is RocksDB's notes about an opening.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Overlay {
    /// Opens tables read-only.
    ///
    /// # Errors
    /// As [`RocksProjection::open_read_only`].
    pub(crate) fn open(tables: &Path) -> Result<Overlay, OpenError> {
        let scratch = Scratch::new().map_err(|e| OpenError::io("making a temporary directory", e))?;
        let base = RocksProjection::open_read_only(tables, &scratch.0, LOOKING)?;
        let applied = base.applied().map_err(|failure| OpenError::Damaged {
            file: tables.to_path_buf(),
            offset: 0,
            reason: failure.to_string(),
        })?;
        Ok(Overlay { base: Some(base), newer: Rows::new(), applied, _scratch: Some(scratch) })
    }

    /// No tables at all: for a log that reaches back to its beginning.
    pub(crate) fn empty() -> Overlay {
        Overlay { base: None, newer: Rows::new(), applied: Applied::NOTHING, _scratch: None }
    }

    /// The families that there are, whether or not a room knows them.
    pub(crate) fn families(&self) -> BTreeSet<Family> {
        self.base.iter().flat_map(|base| base.families()).chain(self.newer.keys()).copied().collect()
    }

    /// The last keys of the family's table files, in order.
    pub(crate) fn file_ends(&self, family: Family) -> Vec<Vec<u8>> {
        self.base_of(family).map_or(Vec::new(), |base| base.file_ends(family))
    }

    /// The tables, if they have the family: a younger version of this binary may be the first to know it.
    fn base_of(&self, family: Family) -> Option<&RocksProjection> {
        self.base.as_ref().filter(|base| base.families().contains(&family))
    }

    /// How far the rows go.
    pub(crate) fn applied(&self) -> Applied {
        self.applied
    }

    /// Lays over them what a log holds above.
    ///
    /// # Errors
    /// As [`recovery::recover`].
    pub(crate) fn replay(
        &mut self,
        disk: &dyn Disk,
        directory_id: [u8; 16],
        trust: Trust,
        registry: &Registry,
    ) -> Result<Recovered, OpenError> {
        let from = self.applied.lsn;
        let mut fault = None;
        let recovered = recovery::recover(disk, directory_id, from, trust, &mut |header, payload| {
            if let Err(failure) = self.lay(payload, registry) {
                fault.get_or_insert(failure);
            }
            self.applied = Applied::by(header);
            Ok(())
        })?;
        for (header, frame) in &recovered.carried {
            if let Err(failure) = self.lay(format::payload(header, frame), registry) {
                fault.get_or_insert(failure);
            }
            self.applied = Applied::by(header);
        }
        match fault {
            None => Ok(recovered),
            Some(failure) => Err(OpenError::io("reading the log", failure)),
        }
    }

    fn lay(&mut self, payload: &[u8], registry: &Registry) -> Result<(), Failure> {
        for op in format::ops(payload) {
            let op = op.ok_or_else(|| Failure::Damaged("a frame's operations do not decode".to_owned()))?;
            let (Op::Put { key, .. } | Op::Delete { key }) = op;
            let table = registry.table_of(key).ok_or_else(|| Failure::Damaged("an unknown table".to_owned()))?;
            let value = if let Op::Put { value, .. } = op { Some(value.to_vec()) } else { None };
            self.newer.entry(table.family).or_default().insert(key.to_vec(), value);
        }
        Ok(())
    }

    /// The rows as rooms read them.
    pub(crate) fn into_snapshot(self) -> Snapshot {
        let applied = self.applied;
        Snapshot::new(Arc::new(self), applied.lsn, applied.time)
    }
}

impl ProjectionRead for Overlay {
    fn get(&self, family: Family, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        let newer = self.newer.get(&family).and_then(|rows| rows.get(key)).map(Option::as_deref);
        get_over(newer, visit, |visit| self.base_of(family).map_or(Ok(false), |base| base.get(family, key, visit)))
    }

    fn scan(&self, family: Family, range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure> {
        let newer = self.newer.get(&family).map(|rows| part_of(rows, range, Option::as_deref));
        scan_over(newer.into_iter().flatten(), range, visit, |visit| {
            self.base_of(family).map_or(Ok(()), |base| base.scan(family, range, visit))
        })
    }
}
