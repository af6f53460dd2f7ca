//! The ends of members' sessions at the console.

use quintet_storage::{Failure, Timestamp, Uuid, WriteTx};

use super::deeds::record_deed;
use super::model::Act;
use crate::sessions::{Door, Session, end_session, find_by_id, sessions_of};

/// Ends a member's session at the console; `by`: who does. Whether there was one: those behind other doors are none.
///
/// # Errors
/// Only the store's.
pub fn end_member_session(tx: &mut WriteTx<'_>, now: Timestamp, session_id: Uuid, by: &str) -> Result<bool, Failure> {
    if find_by_id(tx, session_id)?.is_none_or(|session| session.door != Door::Console) {
        return Ok(false);
    }
    let ended = end_session(tx, session_id)?;
    record_member_ends(tx, now, ended.as_slice(), by)?;
    Ok(ended.is_some())
}

/// Ends all sessions of a member at the console; `by`: who does.
///
/// # Errors
/// Only the store's.
pub fn end_member_sessions(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (tenant_id, principal_id): (Uuid, Uuid),
    by: &str,
) -> Result<(), Failure> {
    for session in sessions_of(tx, Door::Console, tenant_id, principal_id, now)? {
        end_member_session(tx, now, session.session_id, by)?;
    }
    Ok(())
}

/// Leaves a deed for each session at the console that was ended before its time was over.
///
/// # Errors
/// Only the store's.
pub fn record_member_ends(tx: &mut WriteTx<'_>, now: Timestamp, ended: &[Session], by: &str) -> Result<(), Failure> {
    for session in ended.iter().filter(|session| session.door == Door::Console && now < session.ends_at) {
        record_deed(tx, now, Act::MemberSessionEnd, by, &session.session_id.to_string())?;
    }
    Ok(())
}
