//! The tables' side of the store: what the log's operations are applied to and readers read from.
//!
//! RocksDB is the one in use (`rocks`); the crash simulator has a model that falls back to any flushed prefix.

use std::sync::Arc;

use super::family::Family;
use crate::error::Failure;
use crate::log::format::{FrameHeader, Op};
use crate::time::{Lsn, Timestamp};

/// The tables' directory inside the data directory.
pub(crate) const LIVE: &str = "live";

/// Called with each row of a scan, key and value; `false` ends the scan.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> bool;

/// A range of keys: `lower` included, `upper` not (`None`: to the family's end).
#[derive(Clone, Debug)]
pub(crate) struct KeyRange {
    pub(crate) lower: Vec<u8>,
    pub(crate) upper: Option<Vec<u8>>,
    /// Whether rows come in descending order.
    pub(crate) descending: bool,
}

/// Something rows can be read from: the tables as they are, or a snapshot of them.
pub(crate) trait ProjectionRead: Send + Sync {
    /// Hands the row to `visit` if there is one; says whether there was.
    fn get(&self, family: Family, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure>;
    /// Hands the rows of a range to `visit`, in order.
    fn scan(&self, family: Family, range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure>;
}

/// A group of operations to apply as one, and what they bring the tables to.
pub(crate) struct Application<'a> {
    pub(crate) ops: &'a mut dyn Iterator<Item = (Family, Op<'a>)>,
    pub(crate) applied: Applied,
}

/// How far the tables are, as they say themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// The last transaction.
    pub(crate) lsn: Lsn,
    /// The writer's time at it.
    pub(crate) time: Timestamp,
    /// How far identifiers had been given out.
    pub(crate) id_tick: u64,
}

impl Applied {
    /// Nothing yet.
    pub(crate) const NOTHING: Applied = Applied { lsn: 0, time: Timestamp::EPOCH, id_tick: 0 };

    /// What a frame brings the tables to.
    pub(crate) fn by(header: &FrameHeader) -> Applied {
        Applied { lsn: header.last_lsn(), time: header.time, id_tick: header.id_tick }
    }
}

/// The tables.
pub(crate) trait Projection: ProjectionRead {
    /// How far the tables are.
    fn applied(&self) -> Result<Applied, Failure>;
    /// Applies one group atomically, together with its number.
    fn apply(&self, application: Application<'_>) -> Result<(), Failure>;
    /// Makes everything applied so far durable, so that the log below it may go.
    fn flush(&self) -> Result<(), Failure>;
    /// A view that later applications do not change.
    fn snapshot(&self) -> Arc<dyn ProjectionRead>;
    /// The reason why the tables can no longer be written to, if there is one.
    fn fault(&self) -> Option<String>;
}
