//! Taking a schedule away.

use quintet_storage::{Abort, WriteTx};

use super::model::NO_SCHEDULE;
use super::rows::{find, forget};
use crate::model::ScheduleKey;
use crate::refusal::Refusal;

/// Takes a schedule away. What it has told of is delivered all the same.
pub(super) fn remove(tx: &mut WriteTx<'_>, key: ScheduleKey) -> Result<(), Abort<Refusal>> {
    let schedule = find(tx, key)?.ok_or(NO_SCHEDULE)?;
    Ok(forget(tx, key, &schedule)?)
}
