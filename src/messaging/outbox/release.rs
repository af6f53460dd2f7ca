//! What a thread held leaves when the thread goes on.

use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::State;
use super::rows::{find, held_by, put};
use crate::model::ThreadKey;

/// So much leaves in one transaction.
const RELEASED_MAX: usize = 500;

/// Has what a thread held be sent. `true`: there is more, for another transaction.
pub(crate) fn release(tx: &mut WriteTx<'_>, now: Timestamp, thread: ThreadKey) -> Result<bool, Failure> {
    let held = held_by(tx, thread, RELEASED_MAX + 1)?;
    for key in held.iter().take(RELEASED_MAX) {
        let lost = || Failure::Damaged(format!("the mail {key:?} is said to be held, and is not there"));
        let mut outgoing = find(tx, *key)?.ok_or_else(lost)?;
        outgoing.state = State::Due(now);
        outgoing.began_at = Some(now);
        put(tx, *key, outgoing)?;
    }
    Ok(held.len() > RELEASED_MAX)
}
