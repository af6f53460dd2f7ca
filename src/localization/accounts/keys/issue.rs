//! Issuing a key.

use quintet_platform::access::{self, AccessRefusal, Caller, IssueKey, IssuedKey, PreparedSecret};
use quintet_platform::service::Fault;
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, Uuid, WriteTx};

use super::model::{Holder, KEYS_MAX};
use crate::access::{granted, prospects_of};
use crate::audit::{self, Actor, Event};
use crate::grants::holds_all;
use crate::principals::{KEYS_OF_PRINCIPALS, KeyOfPrincipalRow, sealed_label};
use crate::refusal::Refusal;

/// Issues a key.
pub struct IssueKeyFor {
    /// To whom.
    pub holder: Holder,
    /// What people call it.
    pub label: String,
    /// Its secret.
    pub secret: PreparedSecret,
}

/// Issues a key, which may do what its principal may. Since whoever has it acts as that principal, nobody issues one of a
/// principal who may do more than he may himself, or will once an authorization system has taken what was granted.
///
/// # Errors
/// [`Refusal::NotFound`]; that the caller may not; [`Refusal::Conflict`] for a principal that may not act (localization, I3),
/// or one key too many, in this order.
pub fn issue_key(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    by: &Caller,
    command: IssueKeyFor,
) -> Result<IssuedKey, Abort<Refusal>> {
    let IssueKeyFor { holder, label, secret } = command;
    let (tenant_id, principal_id) = (actor.tenant_id, holder.principal_id());
    let is_live = holder.is_live(tx, tenant_id)?;
    let intents = prospects_of(tx, tenant_id, principal_id)?;
    if principal_id != by.principal_id && !holds_all(tx, tenant_id, &granted(tx, by)?, &intents)? {
        return Err(Refusal::Fault(Fault::Forbidden).into());
    }
    if !is_live {
        return Err(Refusal::Conflict("who is removed or revoked has no new keys").into());
    }
    make_room(tx, actor, principal_id)?;
    // What a member calls a key may tell of the person.
    let (label, of_member) = match holder {
        Holder::Member(_) => (String::new(), Some(label)),
        Holder::Account(_) => (label, None),
    };
    let wanted = IssueKey {
        tenant_id: tenant_id.0,
        principal_id: Some(principal_id),
        label,
        permissions: Vec::new(),
        ttl_days: None,
        secret,
    };
    let issued = access::issue_key(tx, now, wanted).map_err(|abort| match abort {
        Abort::Refused(AccessRefusal::InvalidLabel) => {
            Abort::Refused(Refusal::field("label", "has no control characters"))
        }
        Abort::Refused(other) => Abort::Failed(Failure::Io(other.to_string())),
        Abort::Failed(failure) => Abort::Failed(failure),
    })?;
    note_key(tx, now, actor, &issued, of_member.as_deref())?;
    Ok(issued)
}

/// Notes whose key it is, and what a member calls it; and records that it was issued.
///
/// # Errors
/// Only the store's.
pub fn note_key(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    issued: &IssuedKey,
    of_member: Option<&str>,
) -> Result<(), Failure> {
    let key = (actor.tenant_id, issued.principal_id, issued.key_id.clone());
    let label = of_member.filter(|label| !label.is_empty()).map(|label| sealed_label(tx, &key, label)).transpose();
    let label = label.map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(Erased) => Failure::Io("a live member is erased already".to_owned()),
    })?;
    tx.put(&KEYS_OF_PRINCIPALS, &key, &KeyOfPrincipalRow { label })?;
    let event = Event { target_id: key.2, ..Event::about("api_key.issue", "api_key", Uuid::nil()) };
    audit::record(tx, now, actor, event.with([("principal_id", issued.principal_id.to_string().into())])).map(drop)
}

/// Where a principal has as many keys as there can be, the oldest that is revoked goes from the list.
fn make_room(tx: &mut WriteTx<'_>, actor: &Actor, principal_id: Uuid) -> Result<(), Abort<Refusal>> {
    let keys = tx.scan(&KEYS_OF_PRINCIPALS, Scan::prefix(&(actor.tenant_id, principal_id)).limit(KEYS_MAX))?;
    if keys.len() < KEYS_MAX {
        return Ok(());
    }
    for (key, _) in keys {
        if access::find_key(tx, &key.2)?.is_none_or(|found| found.revoked_at.is_some()) {
            tx.delete(&KEYS_OF_PRINCIPALS, &key);
            return Ok(());
        }
    }
    Err(Refusal::Conflict("100 keys are not revoked, which is the most").into())
}
