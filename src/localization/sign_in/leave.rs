//! Somebody signs out.

use quintet_platform::service::Fault;
use quintet_platform::sessions::end_session;
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use crate::audit::Actor;
use crate::refusal::Refusal;
use crate::session_events::record_ends;

/// Ends a session for its owner.
///
/// # Errors
/// [`Fault::Unauthenticated`] if it has ended.
pub fn leave(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, session_id: Uuid) -> Result<(), Abort<Refusal>> {
    let ended = end_session(tx, session_id)?.ok_or(Refusal::Fault(Fault::Unauthenticated))?;
    record_ends(tx, now, actor, &[ended], "logout")?;
    Ok(())
}
