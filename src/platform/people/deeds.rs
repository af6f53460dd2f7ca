//! What was done by operators, and with links.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Act, DEEDS_MAX, Deed};
use super::tables::{DEEDS, DeedRow};

/// Notes a deed; the oldest goes where there would be more than are kept.
///
/// # Errors
/// Only the store's.
pub fn record_deed(tx: &mut WriteTx<'_>, now: Timestamp, act: Act, by: &str, about: &str) -> Result<(), Failure> {
    let last = tx.scan(&DEEDS, Scan::all().newest_first().limit(1))?.first().map_or(0, |(number, _)| *number);
    let number = last.saturating_add(1);
    tx.put(&DEEDS, &number, &DeedRow { at: now, act, by: by.to_owned(), about: about.to_owned() })?;
    if let Some(oldest) = number.checked_sub(DEEDS_MAX) {
        tx.delete(&DEEDS, &oldest);
    }
    Ok(())
}

/// The newest deeds, at most so many.
///
/// # Errors
/// Only the store's.
pub fn list_deeds(read: &impl Read, limit: usize) -> Result<Vec<Deed>, Failure> {
    let rows = read.scan(&DEEDS, Scan::all().newest_first().limit(limit))?;
    Ok(rows.into_iter().map(|(_, row)| row.deed()).collect())
}
