//! From what a browser brings to its session.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, decode_plain};

use super::end::of_principal;
use super::model::{Door, IDLE_SECONDS, Origin, Session};
use super::tables::{SESSION_ORIGINS, SESSION_USES, SESSIONS};
use super::token::split_token;
use super::uses::SessionUses;
use crate::secrets::{Digest, constant_time_eq};

/// How many sessions are read at a time for a list.
const PAGE_ROWS: usize = 1_000;
/// How many are looked at for it: more than an appliance has.
const LOOKED_AT_MAX: usize = 100_000;

/// The session of a token, if it lets in here and now. A session that is not there costs the same digest and comparison as
/// one that is.
///
/// # Errors
/// Only the store's.
pub fn find_session(
    read: &impl Read,
    uses: &SessionUses,
    door: Door,
    token: &str,
    now: Timestamp,
) -> Result<Option<Session>, Failure> {
    const NOBODYS: Digest = [0; 32];
    let Some((session_id, digest)) = split_token(token) else { return Ok(None) };
    let row = read.get(&SESSIONS, &session_id)?;
    let is_own = constant_time_eq(row.as_ref().map_or(&NOBODYS, |row| &row.digest), &digest);
    let Some(row) = row.filter(|row| is_own && row.door == door && now < row.ends_at) else { return Ok(None) };
    let is_awake = |used_at: Timestamp| now < used_at.plus_seconds(IDLE_SECONDS);
    // What is stored is asked only where what is noted, or its beginning, does not say enough.
    let is_noted = is_awake(uses.of(session_id).unwrap_or(row.created_at).max(row.created_at));
    let is_used = is_noted || read.get(&SESSION_USES, &session_id)?.is_some_and(|used| is_awake(used.last_used_at));
    Ok(is_used.then(|| row.session(session_id)))
}

/// A principal's sessions behind a door that have not ended by `now`, the oldest first: a bounded number. Those that ended for
/// want of a request are among them until the clock takes them out.
///
/// # Errors
/// Only the store's.
pub fn sessions_of(
    read: &impl Read,
    door: Door,
    tenant_id: Uuid,
    principal_id: Uuid,
    now: Timestamp,
) -> Result<Vec<Session>, Failure> {
    let mut sessions = of_principal(read, tenant_id, principal_id)?;
    sessions.retain(|session| session.door == door && now < session.ends_at);
    Ok(sessions)
}

/// Sessions of all tenants behind a door that have not ended by `now`, the newest first, at most `limit`. However many there
/// are behind the other door, none is hidden by them, but of a hundred thousand that are newer.
///
/// # Errors
/// Only the store's.
pub fn list_sessions(read: &impl Read, door: Door, now: Timestamp, limit: usize) -> Result<Vec<Session>, Failure> {
    let newest = || Scan::all().newest_first().limit(PAGE_ROWS);
    let mut sessions = Vec::new();
    let mut scan = newest();
    for _ in 0..LOOKED_AT_MAX / PAGE_ROWS {
        let rows = read.scan(&SESSIONS, scan)?;
        let last = rows.last().map(|(id, _)| *id).filter(|_| rows.len() == PAGE_ROWS);
        let page = rows.into_iter().map(|(id, row)| row.session(id));
        sessions.extend(page.filter(|session| session.door == door && now < session.ends_at));
        let Some(last) = last.filter(|_| sessions.len() < limit) else { break };
        scan = newest().after(&last);
    }
    sessions.truncate(limit);
    Ok(sessions)
}

/// A session by its id, behind whatever door; whether it lets in is not asked.
///
/// # Errors
/// Only the store's.
pub(crate) fn find_by_id(read: &impl Read, session_id: Uuid) -> Result<Option<Session>, Failure> {
    Ok(read.get(&SESSIONS, &session_id)?.map(|row| row.session(session_id)))
}

/// Whether a session is still there: for the transaction of what its owner asked for meanwhile.
///
/// # Errors
/// Only the store's.
pub fn is_there(read: &impl Read, session_id: Uuid) -> Result<bool, Failure> {
    read.contains(&SESSIONS, &session_id)
}

/// What the provider said when a session began. `None`: there is no such session, or its owner has been erased.
///
/// # Errors
/// Only the store's.
pub fn origin_of(read: &impl Read, session_id: Uuid) -> Result<Option<Origin>, Failure> {
    let Some(row) = read.get(&SESSIONS, &session_id)? else { return Ok(None) };
    let Some(held) = read.get(&SESSION_ORIGINS, &session_id)? else { return Ok(None) };
    let owner = KeyOwner::Member { tenant: Uuid::from_bytes(row.tenant), member: Uuid::from_bytes(row.principal) };
    match seal::open(read, owner, &SESSION_ORIGINS, &session_id, &held.origin) {
        Ok(plain) => Ok(Some(decode_plain(&plain)?)),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
