//! The first sign-in of a member.

use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Read as _, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::principals::{
    MEMBERS, MEMBERS_BY_SUBJECT, Member, MemberId, MemberMarkRow, MemberStatus, Subject, get_member, sealed_person,
    subject_mark,
};
use crate::refusal::Refusal;

/// Binds a pending member to whom the identity provider means, for good: from now on the member is active (localization,
/// N2). Again with the same subject: the same answer, and nothing is recorded. The caller has seen to it that the address
/// which the provider vouches for is the member's.
///
/// # Errors
/// [`Refusal::NotFound`] for a member that there is not, or that is live no more; [`Refusal::Conflict`] for one that is bound
/// to another subject, or a subject to which another member is bound.
pub fn activate_member(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    member_id: MemberId,
    subject: Subject,
) -> Result<Member, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let mut member = get_member(tx, tenant_id, member_id)?;
    let mut row = tx.get(&MEMBERS, &(tenant_id, member_id))?.ok_or(Refusal::NotFound)?;
    let mark = subject_mark(tx, tenant_id, &subject)?.ok_or(Refusal::NotFound)?;
    let Some(mut person) = member.person.take().filter(|_| row.status.is_live()) else {
        return Err(Refusal::NotFound.into());
    };
    if row.status == MemberStatus::Active {
        if row.subject_mark != Some(mark) {
            return Err(Refusal::Conflict("the member is another subject's").into());
        }
        member.person = Some(person);
        return Ok(member);
    }
    if tx.contains(&MEMBERS_BY_SUBJECT, &(tenant_id, mark))? {
        return Err(Refusal::Conflict("another member is bound to the subject").into());
    }
    person.subject = Some(subject);
    let sealed = sealed_person(tx, tenant_id, member_id, &person).map_err(|abort| match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(Erased) => Abort::Refused(Refusal::NotFound),
    })?;
    (row.status, row.subject_mark, row.person) = (MemberStatus::Active, Some(mark), Some(sealed));
    tx.put(&MEMBERS, &(tenant_id, member_id), &row)?;
    tx.put(&MEMBERS_BY_SUBJECT, &(tenant_id, mark), &MemberMarkRow { member_id })?;
    audit::record(tx, now, actor, Event::about("member.activate", "member", member_id.0))?;
    Ok(Member { status: row.status, person: Some(person), ..member })
}
