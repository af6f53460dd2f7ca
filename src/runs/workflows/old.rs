//! A workflow goes that has been kept long enough, with its nodes, outputs and events.

use quintet_storage::{Failure, Key, KeyPrefix, Read as _, Row, Scan, Table, Timestamp, WriteTx};

use super::loads;
use super::rows::find;
use super::tables::{ATTEMPTS, EVENTS, GRAPHS, NODES, OUTPUTS, SPECS, WEBHOOKS, WORKFLOWS};
use crate::due::{self, Due};
use crate::model::WorkflowKey;

/// Rows of a table that go in one transaction. What is left follows by the sweep.
const ROWS_AT_ONCE: usize = 200;
/// The same of rows that can be large, for they are read before they go: half a megabyte each.
const LARGE_ROWS_AT_ONCE: usize = 8;

/// Takes away what is left of a workflow that has been kept long enough; how many rows have gone.
pub(crate) fn remove_old(tx: &mut WriteTx<'_>, now: Timestamp, key: WorkflowKey) -> Result<usize, Failure> {
    match find(tx, key)? {
        Some(workflow) if !workflow.state.is_terminal() => return Ok(0),
        Some(workflow) => loads::forget(tx, key.0, &workflow)?,
        None => {}
    }
    tx.delete(&WORKFLOWS, &key);
    tx.delete(&GRAPHS, &key);
    tx.delete(&WEBHOOKS, &key);
    let mut gone = 0;
    let mut is_rest = false;
    let mut count = |(count, most): (usize, usize)| {
        gone += count;
        is_rest |= count == most;
    };
    count(remove_some(tx, &SPECS, key, LARGE_ROWS_AT_ONCE)?);
    count(remove_some(tx, &OUTPUTS, key, LARGE_ROWS_AT_ONCE)?);
    count(remove_some(tx, &NODES, key, ROWS_AT_ONCE)?);
    count(remove_some(tx, &ATTEMPTS, key, ROWS_AT_ONCE)?);
    count(remove_some(tx, &EVENTS, key, ROWS_AT_ONCE)?);
    if is_rest {
        due::put(tx, now, Due::OldWorkflow(key))?;
    }
    Ok(gone)
}

/// Takes some rows of a workflow away; how many have gone, of how many at the most.
fn remove_some<K: Key, V: Row>(
    tx: &mut WriteTx<'_>,
    table: &Table<K, V>,
    key: WorkflowKey,
    most: usize,
) -> Result<(usize, usize), Failure>
where
    WorkflowKey: KeyPrefix<K>,
{
    let rows = tx.scan(table, Scan::prefix(&key).limit(most))?;
    for (key, _) in &rows {
        tx.delete(table, key);
    }
    Ok((rows.len(), most))
}
