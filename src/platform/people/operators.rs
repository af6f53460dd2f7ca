//! Sessions of operators.

use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::deeds::record_deed;
use super::model::{Act, OPERATOR_IDLE_SECONDS, OPERATOR_SECONDS, OPERATORS_MAX, OperatorSession, USE_SECONDS};
use super::tables::{ENDS, EndRow, OPERATORS, OperatorSessionRow};
use crate::jobs::start_of_hour;
use crate::secrets::{Digest, constant_time_eq};
use crate::sessions::split_token;

/// Begins a session for whoever asked for a link; its id. Where there are too many, one that is over makes room, or else
/// the oldest ends.
///
/// # Errors
/// Only the store's.
pub fn begin_session(tx: &mut WriteTx<'_>, now: Timestamp, login: &str, digest: Digest) -> Result<Uuid, Failure> {
    make_room(tx, now, login)?;
    let session_id = tx.new_id();
    let row = OperatorSessionRow {
        digest,
        login: login.to_owned(),
        created_at: now,
        last_used_at: now,
        ends_at: now.plus_seconds(OPERATOR_SECONDS),
    };
    tx.put(&OPERATORS, &session_id, &row)?;
    tx.put(&ENDS, &(row.end_hour(), session_id), &EndRow::Operator)?;
    tx.falls_due(ENDS.spec().tag, start_of_hour(row.end_hour()));
    record_deed(tx, now, Act::OperatorSignIn, login, &session_id.to_string())?;
    Ok(session_id)
}

/// Takes a session out where there are as many as there may be; `by`: who needs the room.
fn make_room(tx: &mut WriteTx<'_>, now: Timestamp, by: &str) -> Result<(), Failure> {
    let known = tx.scan(&OPERATORS, Scan::all().limit(OPERATORS_MAX))?;
    if known.len() < OPERATORS_MAX {
        return Ok(());
    }
    if let Some((over, row)) = known.iter().find(|(_, row)| !is_awake(row, now)) {
        remove(tx, *over, row);
        return Ok(());
    }
    let Some((oldest, _)) = known.first() else { return Ok(()) };
    end_operator_session(tx, now, *oldest, by).map(drop)
}

/// The session of a token, if it lets in now. One that is not there costs the same digest and comparison as one that is.
///
/// # Errors
/// Only the store's.
pub fn find_operator(read: &impl Read, token: &str, now: Timestamp) -> Result<Option<OperatorSession>, Failure> {
    const NOBODYS: Digest = [0; 32];
    let Some((session_id, digest)) = split_token(token) else { return Ok(None) };
    let row = read.get(&OPERATORS, &session_id)?;
    let is_own = constant_time_eq(row.as_ref().map_or(&NOBODYS, |row| &row.digest), &digest);
    Ok(row.filter(|row| is_own && is_awake(row, now)).map(|row| row.session(session_id)))
}

fn is_awake(row: &OperatorSessionRow, now: Timestamp) -> bool {
    now < row.ends_at && now < row.last_used_at.plus_seconds(OPERATOR_IDLE_SECONDS)
}

/// Whether a use of a session has to be noted: the last note is a minute old.
#[must_use]
pub fn is_use_due(session: &OperatorSession, now: Timestamp) -> bool {
    now >= session.last_used_at.plus_seconds(USE_SECONDS)
}

/// Notes a use of a session, if it is still there. No use is ever taken back.
///
/// # Errors
/// Only the store's.
pub fn note_use(tx: &mut WriteTx<'_>, now: Timestamp, session_id: Uuid) -> Result<(), Failure> {
    match tx.get(&OPERATORS, &session_id)? {
        Some(row) if row.last_used_at < now => {
            tx.put(&OPERATORS, &session_id, &OperatorSessionRow { last_used_at: now, ..row })
        }
        _ => Ok(()),
    }
}

/// Every session that lets somebody in now, the oldest first: a bounded number.
///
/// # Errors
/// Only the store's.
pub fn list_operators(read: &impl Read, now: Timestamp) -> Result<Vec<OperatorSession>, Failure> {
    let rows = read.scan(&OPERATORS, Scan::all().limit(OPERATORS_MAX))?;
    Ok(rows.into_iter().filter(|(_, row)| is_awake(row, now)).map(|(id, row)| row.session(id)).collect())
}

/// Ends a session; `by`: who does. Whether there was one.
///
/// # Errors
/// Only the store's.
pub fn end_operator_session(tx: &mut WriteTx<'_>, now: Timestamp, session_id: Uuid, by: &str) -> Result<bool, Failure> {
    let Some(row) = tx.get(&OPERATORS, &session_id)? else { return Ok(false) };
    remove(tx, session_id, &row);
    record_deed(tx, now, Act::OperatorSessionEnd, by, &session_id.to_string())?;
    Ok(true)
}

/// Takes a session out with what finds it.
pub(super) fn remove(tx: &mut WriteTx<'_>, session_id: Uuid, row: &OperatorSessionRow) {
    tx.delete(&ENDS, &(row.end_hour(), session_id));
    tx.delete(&OPERATORS, &session_id);
}
