//! What the audit chain tells of sessions (4-localization.md, I4).

use quintet_platform::json::Json;
use quintet_platform::sessions::{Door, Session};
use quintet_storage::{Failure, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::model::TenantId;

/// A session has begun; `cause`: by which way.
///
/// # Errors
/// Only the store's.
pub fn record_session(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    session: &Session,
    cause: &'static str,
) -> Result<(), Failure> {
    let event = Event::about("session.create", "session", session.session_id).with([("cause", Json::from(cause))]);
    audit::record(tx, now, actor, event).map(drop)
}

/// Sessions have ended. `actor` says who ended them; each is told of in its own tenant's chain, and those of other doors
/// are not localization's to tell.
///
/// # Errors
/// Only the store's.
pub fn record_ends(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    ended: &[Session],
    cause: &'static str,
) -> Result<(), Failure> {
    for session in ended.iter().filter(|session| session.door == Door::Localization) {
        let member = ("member_id", Json::from(session.principal_id.to_string()));
        let event =
            Event::about("session.end", "session", session.session_id).with([("cause", Json::from(cause)), member]);
        let own = Actor { tenant_id: TenantId(session.tenant_id), ..actor.clone() };
        audit::record(tx, now, &own, event)?;
    }
    Ok(())
}
