//! Cancelling a reminder.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{REMEMBERED_SECONDS, Reminder, ReminderKey, State};
use super::rows::{find, put};

/// Cancels a reminder; one that has ended stays what it is. `None`: there is none.
pub(super) fn cancel(tx: &mut WriteTx<'_>, now: Timestamp, key: ReminderKey) -> Result<Option<Reminder>, Failure> {
    let Some(before) = find(tx, key)? else { return Ok(None) };
    if before.state_at(now) != State::Scheduled {
        return Ok(Some(before));
    }
    let reminder = ended(before.clone(), now, State::Cancelled);
    put(tx, key, &before, reminder.clone())?;
    Ok(Some(reminder))
}

/// A reminder that has ended at an instant.
pub(super) fn ended(reminder: Reminder, now: Timestamp, state: State) -> Reminder {
    Reminder { state, due_at: None, looked_at: now.plus_seconds(REMEMBERED_SECONDS), ..reminder }
}
