//! Ends sessions: what was ended is gone, and with it everything that finds it.

use quintet_storage::{Failure, Read, Scan, Uuid, WriteTx};

use super::model::{AtProvider, SESSIONS_MAX, Session};
use super::tables::{
    Mark, SESSION_ORIGINS, SESSION_USES, SESSIONS, SESSIONS_BY_END, SESSIONS_BY_NAME, SESSIONS_BY_PRINCIPAL, SessionRow,
};

/// More sessions than a principal has, behind all doors.
const OF_PRINCIPAL_MAX: usize = 4 * SESSIONS_MAX;

/// Ends a session; what it was. `None`: there is none.
///
/// # Errors
/// Only the store's.
pub fn end_session(tx: &mut WriteTx<'_>, session_id: Uuid) -> Result<Option<Session>, Failure> {
    let Some(row) = tx.get(&SESSIONS, &session_id)? else { return Ok(None) };
    let session = row.session(session_id);
    for mark in row.each_mark() {
        tx.delete(&SESSIONS_BY_NAME, &(mark, session_id));
    }
    tx.delete(&SESSIONS_BY_PRINCIPAL, &(session.tenant_id, session.principal_id, session_id));
    tx.delete(&SESSIONS_BY_END, &(row.end_hour(), session_id));
    tx.delete(&SESSION_ORIGINS, &session_id);
    tx.delete(&SESSION_USES, &session_id);
    tx.delete(&SESSIONS, &session_id);
    Ok(Some(session))
}

/// Ends all sessions of a principal, behind every door: it has been removed.
///
/// # Errors
/// Only the store's.
pub fn end_sessions_of(tx: &mut WriteTx<'_>, tenant_id: Uuid, principal_id: Uuid) -> Result<Vec<Session>, Failure> {
    let mut ended = Vec::new();
    for session in of_principal(tx, tenant_id, principal_id)? {
        ended.extend(end_session(tx, session.session_id)?);
    }
    Ok(ended)
}

/// Ends sessions that the identity provider names, in all tenants and behind every door, at most so many.
///
/// # Errors
/// Only the store's.
pub fn end_sessions_at_provider(tx: &mut WriteTx<'_>, named: AtProvider, most: usize) -> Result<Vec<Session>, Failure> {
    let (mark, subject) = match named {
        AtProvider::Subject(subject) => (subject, None),
        AtProvider::Session { session, subject } => (session, subject),
    };
    let mut ended = Vec::new();
    for ((_, session_id), Mark) in tx.scan(&SESSIONS_BY_NAME, Scan::prefix(&(mark,)).limit(most))? {
        // Who a session at the provider is said to be of, must be who has signed in with it.
        let is_named = |row: &SessionRow| subject.is_none_or(|subject| row.subject_mark == subject);
        if tx.get(&SESSIONS, &session_id)?.is_some_and(|row| is_named(&row)) {
            ended.extend(end_session(tx, session_id)?);
        }
    }
    Ok(ended)
}

/// The sessions of a principal, the oldest first.
pub(super) fn of_principal(read: &impl Read, tenant_id: Uuid, principal_id: Uuid) -> Result<Vec<Session>, Failure> {
    let scan = Scan::prefix(&(tenant_id, principal_id)).limit(OF_PRINCIPAL_MAX);
    let mut sessions = Vec::new();
    for ((.., session_id), Mark) in read.scan(&SESSIONS_BY_PRINCIPAL, scan)? {
        sessions.extend(read.get(&SESSIONS, &session_id)?.map(|row| row.session(session_id)));
    }
    Ok(sessions)
}
