//! Makes sessions.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Read as _, Timestamp, Uuid, WriteTx, encode_plain};
use zeroize::Zeroizing;

use super::end::{end_session, of_principal};
use super::find::origin_of;
use super::model::{Door, Marks, Origin, SESSIONS_MAX, Session};
use super::tables::{
    Mark, SESSION_ORIGINS, SESSIONS, SESSIONS_BY_END, SESSIONS_BY_NAME, SESSIONS_BY_PRINCIPAL, SessionOriginRow,
    SessionRow,
};
use crate::jobs::start_of_hour;
use crate::secrets::Digest;

/// A session to be made.
pub struct NewSession {
    /// Where it is to let in.
    pub door: Door,
    /// Which tenant it is bound to.
    pub tenant_id: Uuid,
    /// Whose it is: a member of the tenant.
    pub principal_id: Uuid,
    /// The digest of its token.
    pub digest: Digest,
    /// What the provider said.
    pub origin: Origin,
    /// By which marks it is found.
    pub marks: Marks,
    /// When it ends at the latest.
    pub ends_at: Timestamp,
}

/// A session that was made, and what ended for it.
pub struct Made {
    /// The session.
    pub session: Session,
    /// The oldest of its owner, where there would be more than there may be.
    pub ended: Vec<Session>,
}

/// Makes a session. If its owner has as many as there may be behind this door, the oldest end.
///
/// # Errors
/// Refused if the member has been erased; the store's failures.
pub fn create_session(tx: &mut WriteTx<'_>, now: Timestamp, new: NewSession) -> Result<Made, Abort<Erased>> {
    let NewSession { door, tenant_id, principal_id, digest, origin, marks, ends_at } = new;
    let mut known = of_principal(tx, tenant_id, principal_id)?;
    known.retain(|session| session.door == door);
    let too_many = (known.len() + 1).saturating_sub(SESSIONS_MAX);
    let mut ended = Vec::new();
    for session in known.into_iter().take(too_many) {
        ended.extend(end_session(tx, session.session_id)?);
    }
    let session_id = tx.new_id();
    let owner = KeyOwner::Member { tenant: tenant_id, member: principal_id };
    let plain = Zeroizing::new(encode_plain(&origin)?);
    let row = SessionRow {
        door,
        tenant: tenant_id.into_bytes(),
        principal: principal_id.into_bytes(),
        digest,
        subject_mark: marks.subject,
        session_mark: marks.provider_session,
        created_at: now,
        ends_at,
    };
    let origin = seal::seal(tx, owner, &SESSION_ORIGINS, &session_id, &plain)?;
    tx.put(&SESSIONS, &session_id, &row)?;
    tx.put(&SESSION_ORIGINS, &session_id, &SessionOriginRow { origin })?;
    tx.put(&SESSIONS_BY_PRINCIPAL, &(tenant_id, principal_id, session_id), &Mark)?;
    for mark in row.each_mark() {
        tx.put(&SESSIONS_BY_NAME, &(mark, session_id), &Mark)?;
    }
    tx.put(&SESSIONS_BY_END, &(row.end_hour(), session_id), &Mark)?;
    tx.falls_due(SESSIONS_BY_END.spec().tag, start_of_hour(row.end_hour()));
    Ok(Made { session: row.session(session_id), ended })
}

/// A session in another tenant, and the one that it has taken the place of.
pub struct Moved {
    /// The one that has ended.
    pub before: Session,
    /// What was made.
    pub made: Made,
}

/// Puts a session of another tenant's member into the place of one, which ends. It ends when that would have: nobody stays
/// signed in by going back and forth. `None`: there is no such session.
///
/// # Errors
/// As [`create_session`].
pub fn move_session(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    session_id: Uuid,
    tenant_id: Uuid,
    principal_id: Uuid,
    digest: Digest,
) -> Result<Option<Moved>, Abort<Erased>> {
    let (Some(row), Some(origin)) = (tx.get(&SESSIONS, &session_id)?, origin_of(tx, session_id)?) else {
        return Ok(None);
    };
    let (door, marks, ends_at) = (row.door, row.marks(), row.ends_at);
    let Some(before) = end_session(tx, session_id)? else { return Ok(None) };
    let new = NewSession { door, tenant_id, principal_id, digest, origin, marks, ends_at };
    Ok(Some(Moved { before, made: create_session(tx, now, new)? }))
}
