//! Inviting a member.

use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read as _, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::principals::{
    COUNTS, MEMBERS, MEMBERS_BY_EMAIL, MEMBERS_MAX, MarkKey, Member, MemberId, MemberMarkRow, MemberRow, MemberStatus,
    Person, email_mark, keep_mark_key, member_by_email, sealed_person,
};
use crate::refusal::Refusal;
use crate::spaces::{ShortIdRow, take_short_id};

/// Invites a member.
pub struct CreateMember {
    /// The person's address.
    pub email: String,
    /// A name for people.
    pub display_name: Option<String>,
    /// What marks are made under, if the tenant has none of its own yet.
    pub mark_key: MarkKey,
}

/// Invites a member, pending until the first sign-in. Nothing is sent.
///
/// # Errors
/// [`Refusal::Conflict`] if a live member has the address, ignoring case (localization, I1), or for one member too many.
pub fn create_member(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: CreateMember,
) -> Result<Member, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    keep_mark_key(tx, tenant_id, &command.mark_key)?;
    let mark = email_mark(tx, tenant_id, &command.email)?;
    let mark = mark.ok_or_else(|| Failure::Damaged("the tenant's key for marks is gone".to_owned()))?;
    let is_taken = tx.contains(&MEMBERS_BY_EMAIL, &(tenant_id, mark))?;
    if is_taken || member_by_email(tx, tenant_id, &command.email)?.is_some() {
        return Err(Refusal::Conflict("a member has this address").into());
    }
    let mut counts = tx.get(&COUNTS, &tenant_id)?.unwrap_or_default();
    if counts.live_members >= MEMBERS_MAX {
        return Err(Refusal::Conflict("the tenant has 10,000 members, which is the most").into());
    }
    counts.live_members += 1;
    tx.put(&COUNTS, &tenant_id, &counts)?;
    let member_id = MemberId(tx.new_id());
    let short_id = take_short_id(tx, tenant_id, member_id.0, &ShortIdRow::Member(member_id))?;
    let person = Person { email: command.email, display_name: command.display_name, subject: None };
    let sealed = sealed_person(tx, tenant_id, member_id, &person).map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(Erased) => Failure::Io("a new member is erased already".to_owned()),
    })?;
    let row = MemberRow {
        short_id: short_id.clone(),
        status: MemberStatus::Pending,
        person: Some(sealed),
        email_mark: Some(mark),
        subject_mark: None,
        created_at: now,
    };
    tx.put(&MEMBERS_BY_EMAIL, &(tenant_id, mark), &MemberMarkRow { member_id })?;
    tx.put(&MEMBERS, &(tenant_id, member_id), &row)?;
    audit::record(tx, now, actor, Event::about("member.create", "member", member_id.0))?;
    Ok(Member { member_id, short_id, status: row.status, person: Some(person), created_at: now })
}
