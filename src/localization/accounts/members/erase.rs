//! Erasing a member.

use quintet_platform::access::forget_label;
use quintet_storage::seal::{self, KeyOwner};
use quintet_storage::{Abort, Read as _, Scan, Timestamp, WriteTx};

use super::remove::remove_member;
use crate::audit::{self, Actor, Event};
use crate::principals::{KEYS_OF_PRINCIPALS, MEMBERS, Member, MemberId, MemberStatus};
use crate::refusal::Refusal;

/// Removes a member, and destroys what tells of the person with the key under which it is sealed, so that it opens nowhere
/// any more: not here, not in the log, not in a copy that is restored (localization, I2). Again: the same answer.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn erase_member(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    member_id: MemberId,
) -> Result<Member, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let member = remove_member(tx, now, actor, member_id)?;
    if member.status == MemberStatus::Erased {
        return Ok(member);
    }
    let mut row = tx.get(&MEMBERS, &(tenant_id, member_id))?.ok_or(Refusal::NotFound)?;
    (row.status, row.person) = (MemberStatus::Erased, None);
    tx.put(&MEMBERS, &(tenant_id, member_id), &row)?;
    for ((.., key_id), _) in tx.scan(&KEYS_OF_PRINCIPALS, Scan::prefix(&(tenant_id, member_id.0)))? {
        // That of a key of a former version lies open.
        forget_label(tx, &key_id)?;
    }
    seal::destroy(tx, now, KeyOwner::Member { tenant: tenant_id.0, member: member_id.0 })?;
    audit::record(tx, now, actor, Event::about("member.erase", "member", member_id.0))?;
    Ok(Member { status: MemberStatus::Erased, person: None, ..member })
}
