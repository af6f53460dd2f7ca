//! The tables of what falls due, and all that is done with them.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0412 | due | instant, kind, whose | what ends or goes by the clock; the key says everything |
//! | 0x041B | fires | instant, kind, whose | what begins by the clock; likewise |

use bincode::{Decode, Encode};
use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Row, Scan, Table, Timestamp, WriteTx};

use super::model::{Due, Fire};
use crate::model::FAMILY;

/// What ends or goes.
pub(super) const DUE: Table<(Timestamp, Due), DueRow> = Table::new(0x0412, FAMILY, "runs_due_work");

/// What begins.
pub(super) const FIRES: Table<(Timestamp, Fire), DueRow> = Table::new(0x041B, FAMILY, "runs_fires");

/// What the store calls this table where it tells that something falls due.
pub(crate) const AGENDA: u16 = DUE.spec().tag;
/// The same of what begins.
pub(crate) const FIRES_AGENDA: u16 = FIRES.spec().tag;

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

/// Has something begin. The instant must not lie before the present one of the transaction: what lies before what was
/// begun already is not looked at.
pub(crate) fn put_fire(tx: &mut WriteTx<'_>, at: Timestamp, fire: Fire) -> Result<(), Failure> {
    tx.falls_due(FIRES_AGENDA, at);
    tx.put(&FIRES, &(at, fire), &DueRow)
}

/// Nothing begins there any more.
pub(crate) fn clear_fire(tx: &mut WriteTx<'_>, at: Timestamp, fire: Fire) {
    tx.delete(&FIRES, &(at, fire));
}

/// Whether something begins there.
pub(crate) fn is_fire_put(read: &impl Read, at: Timestamp, fire: Fire) -> Result<bool, Failure> {
    read.contains(&FIRES, &(at, fire))
}

/// The first of what begins behind a place, `most` at the most.
pub(crate) fn first_fires(
    read: &impl Read,
    behind: (Timestamp, Fire),
    most: usize,
) -> Result<Vec<(Timestamp, Fire)>, Failure> {
    let scan = Scan::all().after(&behind).limit(most);
    Ok(read.scan(&FIRES, scan)?.into_iter().map(|(key, _)| key).collect())
}

/// Everything that begins some time, for checks.
pub(crate) fn each_fire(
    read: &impl Read,
    findings: &mut Vec<String>,
    mut check: impl FnMut(Timestamp, Fire, &mut Vec<String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each(read, &FIRES, findings, |(at, fire), DueRow, findings| check(at, fire, findings))
}
