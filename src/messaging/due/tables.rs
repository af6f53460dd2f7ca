//! The table of what falls due, and all that is done with it; that of what is parked.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0510 | due | instant, kind, whose | what is done by the clock; the key says everything |
//! | 0x0586 | parked | workspace, instant, kind, whose | what fell due while its workspace was suspended |

use quintet_platform::verify;
use quintet_storage::{Failure, Read, Scan, Table, TableSpec, Timestamp, WriteTx};

use super::model::Due;
use crate::model::{FAMILY, Mark, WorkspaceNo};

const DUE: Table<(Timestamp, Due), Mark> = Table::new(0x0510, FAMILY, "messaging_due");
pub(super) const PARKED: Table<(WorkspaceNo, Timestamp, Due), Mark> = Table::new(0x0586, FAMILY, "messaging_parked");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[DUE.spec(), PARKED.spec()];

/// What the store calls this table where it tells that something falls due.
pub(crate) const AGENDA: u16 = DUE.spec().tag;

/// Has something fall due.
pub(crate) fn put(tx: &mut WriteTx<'_>, at: Timestamp, due: Due) -> Result<(), Failure> {
    tx.falls_due(AGENDA, at);
    tx.put(&DUE, &(at, due), &Mark)
}

/// Nothing falls due there any more.
pub(crate) fn clear(tx: &mut WriteTx<'_>, at: Timestamp, due: Due) {
    tx.delete(&DUE, &(at, due));
}

/// Whether something falls due there.
pub(crate) fn is_put(read: &impl Read, at: Timestamp, due: Due) -> Result<bool, Failure> {
    read.contains(&DUE, &(at, due))
}

/// The first of what falls due at a place or behind it, `most` at the most.
pub(crate) fn first(read: &impl Read, from: (Timestamp, Due), most: usize) -> Result<Vec<(Timestamp, Due)>, Failure> {
    Ok(read.scan(&DUE, Scan::all().from(&from).limit(most))?.into_iter().map(|(key, Mark)| key).collect())
}

/// Calls `look` with everything that falls due.
pub(crate) fn each(
    read: &impl Read,
    findings: &mut Vec<String>,
    mut look: impl FnMut(Timestamp, Due, &mut Vec<String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    verify::each(read, &DUE, findings, |(at, due), Mark, findings| look(at, due, findings))
}
