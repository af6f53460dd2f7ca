//! From one tenant to another, without signing in anew.

use quintet_platform::secrets::Digest;
use quintet_platform::service::Fault;
use quintet_platform::sessions::{Session, move_session, origin_of};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use super::arrive::{bind, member_of, recorded};
use crate::audit::Actor;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::session_events::record_ends;

/// Puts a session in another tenant into the place of one, for the member that its owner is there: by issuer and subject,
/// else by the address that the provider vouched for (4-localization.md, N5). `from` is who asks, in the tenant that is
/// left.
///
/// # Errors
/// [`Fault::Unauthenticated`] if the session has ended; [`Refusal::NotMember`], and it goes on.
pub fn switch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    from: &Actor,
    session_id: Uuid,
    tenant_id: TenantId,
    digest: Digest,
) -> Result<Session, Abort<Refusal>> {
    let over = || Abort::Refused(Refusal::Fault(Fault::Unauthenticated));
    let origin = origin_of(tx, session_id)?.ok_or_else(over)?;
    let member = member_of(tx, tenant_id, &origin)?.ok_or(Refusal::NotMember)?;
    let principal_id = member.member_id.0;
    let actor = Actor { tenant_id, principal_id, ..from.clone() };
    bind(tx, now, &actor, &member, &origin)?;
    let moved = move_session(tx, now, session_id, tenant_id.0, principal_id, digest).map_err(|abort| match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        // A live member has not been erased.
        Abort::Refused(Erased) => Abort::Refused(Refusal::NotMember),
    })?;
    let moved = moved.ok_or_else(over)?;
    record_ends(tx, now, from, std::slice::from_ref(&moved.before), "switch")?;
    Ok(recorded(tx, now, &actor, moved.made, "switch")?)
}
