//! Reading what was used, and forgetting it.

use quintet_storage::{Failure, Read, WriteTx};

use super::model::Day;
use super::tables::{DayRow, USAGE};
use crate::model::WorkspaceNo;

/// What a workspace has used of a day.
pub(crate) fn used(read: &impl Read, workspace: WorkspaceNo, day: u32) -> Result<Day, Failure> {
    Ok(read.get(&USAGE, &(workspace, day))?.map_or_else(Day::default, DayRow::into_day))
}

/// Forgets a day, when nobody asks for it any more.
pub(crate) fn forget(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, day: u32) {
    tx.delete(&USAGE, &(workspace, day));
}
