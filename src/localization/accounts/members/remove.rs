//! Removing a member.

use quintet_storage::{Abort, Read as _, Timestamp, WriteTx};

use crate::accounts::leaving::shut_out;
use crate::audit::{self, Actor, Event};
use crate::principals::{
    COUNTS, MEMBERS, MEMBERS_BY_EMAIL, MEMBERS_BY_SUBJECT, Member, MemberId, MemberStatus, get_member,
};
use crate::refusal::Refusal;

/// Removes a member: sessions, keys and grants end with it, and the address is free to be invited anew. Again: the same
/// answer (localization, I1).
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn remove_member(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    member_id: MemberId,
) -> Result<Member, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let mut row = tx.get(&MEMBERS, &(tenant_id, member_id))?.ok_or(Refusal::NotFound)?;
    if row.status.is_live() {
        if let Some(mark) = row.email_mark.take() {
            tx.delete(&MEMBERS_BY_EMAIL, &(tenant_id, mark));
        }
        if let Some(mark) = row.subject_mark.take() {
            tx.delete(&MEMBERS_BY_SUBJECT, &(tenant_id, mark));
        }
        row.status = MemberStatus::Removed;
        tx.put(&MEMBERS, &(tenant_id, member_id), &row)?;
        let mut counts = tx.get(&COUNTS, &tenant_id)?.unwrap_or_default();
        counts.live_members = counts.live_members.saturating_sub(1);
        tx.put(&COUNTS, &tenant_id, &counts)?;
        audit::record(tx, now, actor, Event::about("member.remove", "member", member_id.0))?;
        shut_out(tx, now, actor, member_id.0)?;
    }
    get_member(tx, tenant_id, member_id)
}
