//! The one table of what falls due, and all that is done with it.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0412 | due | instant, kind, whose | what falls due by the clock; the key says everything |

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Read, Row, Scan, Table, Timestamp, WriteTx};

use super::model::Due;
use crate::model::FAMILY;

/// What falls due.
pub(super) const DUE: Table<(Timestamp, Due), DueRow> = Table::new(0x0412, FAMILY, "runs_due_work");

/// What the store calls this table where it tells that something falls due.
pub(crate) const AGENDA: u16 = DUE.spec().tag;

/// Its key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct DueRow;
impl Row for DueRow {}

/// Has something fall due.
pub(crate) fn put(tx: &mut WriteTx<'_>, at: Timestamp, due: Due) -> Result<(), Failure> {
    tx.falls_due(AGENDA, at);
    tx.put(&DUE, &(at, due), &DueRow)
}

/// Nothing falls due there any more.
pub(crate) fn clear(tx: &mut WriteTx<'_>, at: Timestamp, due: Due) {
    tx.delete(&DUE, &(at, due));
}

/// Whether something falls due there.
pub(crate) fn is_put(read: &impl Read, at: Timestamp, due: Due) -> Result<bool, Failure> {
    read.contains(&DUE, &(at, due))
}

/// The first of what falls due, `most` at the most.
pub(crate) fn first(read: &impl Read, most: usize) -> Result<Vec<(Timestamp, Due)>, Failure> {
    Ok(read.scan(&DUE, Scan::all().limit(most))?.into_iter().map(|(key, _)| key).collect())
}
