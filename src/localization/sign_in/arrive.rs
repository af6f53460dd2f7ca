//! Somebody has signed in at the provider.

use quintet_platform::identity::spend;
use quintet_platform::secrets::Digest;
use quintet_platform::sessions::{
    Door, LIFE_SECONDS, Made, Marks, NewSession, Origin, Session, create_session, end_session,
};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use crate::accounts::members::activate_member;
use crate::audit::{Actor, ActorKind};
use crate::model::TenantId;
use crate::principals::{Member, MemberStatus, Subject, member_by_email, member_by_subject};
use crate::refusal::Refusal;
use crate::session_events::{record_ends, record_session};

/// Who has come, and by which login.
pub struct Arrival {
    /// The tenant that the login is for.
    pub tenant_id: TenantId,
    /// What the provider said.
    pub origin: Origin,
    /// By which marks the session is found.
    pub marks: Marks,
    /// The digest of the token that the browser is to hold.
    pub digest: Digest,
    /// The login's name, which counts once.
    pub login: u128,
    /// Until when the login counts.
    pub login_ends_at: Timestamp,
    /// The session that the browser holds until now; it ends.
    pub before: Option<Uuid>,
    /// The request.
    pub request_id: String,
}

/// What comes of an arrival.
pub enum Arrived {
    /// A session.
    Session(Session),
    /// Nothing: whoever has come is no member of the tenant. The login is spent.
    NobodyHere,
    /// Nothing: the login was answered before.
    Spent,
}

/// Makes a session for whoever has come, if that is a member of the tenant. The first sign-in binds a member to issuer and
/// subject.
///
/// # Errors
/// Only the store's.
pub fn arrive(tx: &mut WriteTx<'_>, now: Timestamp, arrival: Arrival) -> Result<Arrived, Abort<Refusal>> {
    let Arrival { tenant_id, origin, marks, digest, login, login_ends_at, before, request_id } = arrival;
    if !spend(tx, login, login_ends_at)? {
        return Ok(Arrived::Spent);
    }
    let Some(member) = member_of(tx, tenant_id, &origin)? else { return Ok(Arrived::NobodyHere) };
    let principal_id = member.member_id.0;
    let actor = Actor { tenant_id, kind: ActorKind::Member, principal_id, request_id, uid: None };
    bind(tx, now, &actor, &member, &origin)?;
    if let Some(before) = before {
        let ended = end_session(tx, before)?;
        record_ends(tx, now, &actor, ended.as_slice(), "sign_in")?;
    }
    let new = NewSession {
        door: Door::Localization,
        tenant_id: tenant_id.0,
        principal_id,
        digest,
        origin,
        marks,
        ends_at: now.plus_seconds(LIFE_SECONDS),
    };
    let made = create_session(tx, now, new).map_err(|abort| match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        // A live member has not been erased.
        Abort::Refused(Erased) => Abort::Refused(Refusal::NotMember),
    })?;
    Ok(Arrived::Session(recorded(tx, now, &actor, made, "sign_in")?))
}

/// Tells of a session that was made, and of what ended for it.
///
/// # Errors
/// Only the store's.
pub fn recorded(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    made: Made,
    cause: &'static str,
) -> Result<Session, Failure> {
    record_ends(tx, now, actor, &made.ended, "too_many")?;
    record_session(tx, now, actor, &made.session, cause)?;
    Ok(made.session)
}

/// The member of a tenant that somebody is: by issuer and subject, else one that waits for its first sign-in, by the address
/// that the provider vouches for.
///
/// # Errors
/// Only the store's.
pub fn member_of(read: &impl Read, tenant_id: TenantId, origin: &Origin) -> Result<Option<Member>, Failure> {
    if let Some(known) = member_by_subject(read, tenant_id, &subject_of(origin))? {
        return Ok(Some(known));
    }
    let Some(email) = &origin.email else { return Ok(None) };
    Ok(member_by_email(read, tenant_id, email)?.filter(|member| member.status == MemberStatus::Pending))
}

/// Binds a member that waits for its first sign-in.
///
/// # Errors
/// As [`activate_member`].
pub fn bind(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    member: &Member,
    origin: &Origin,
) -> Result<(), Abort<Refusal>> {
    if member.status == MemberStatus::Pending {
        activate_member(tx, now, actor, member.member_id, subject_of(origin))?;
    }
    Ok(())
}

fn subject_of(origin: &Origin) -> Subject {
    Subject { issuer: origin.issuer.clone(), subject: origin.subject.clone() }
}
