//! A timer that has fired or was cancelled goes.

use quintet_storage::{Failure, WriteTx};

use super::model::TimerState;
use super::rows::{find, remove};
use crate::model::TimerKey;

/// Takes a timer away that has been kept long enough.
pub(crate) fn remove_old(tx: &mut WriteTx<'_>, key: TimerKey) -> Result<(), Failure> {
    match find(tx, key)? {
        Some(timer) if timer.state != TimerState::Pending => remove(tx, key, &timer),
        _ => Ok(()),
    }
}
