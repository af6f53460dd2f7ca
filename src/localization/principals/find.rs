//! Finding principals.

use quintet_storage::{Abort, Failure, Read, Scan, Uuid};

use super::marks::{email_mark, former_email_mark, subject_mark};
use super::model::{AccountId, AccountStatus, Member, MemberId, ServiceAccount, Subject, folded_address};
use super::tables::{ACCOUNTS, MEMBERS, MEMBERS_BY_EMAIL, MEMBERS_BY_SUBJECT, MemberMarkRow};
use crate::audit::ActorKind;
use crate::model::TenantId;
use crate::refusal::Refusal;

/// One member.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_member(read: &impl Read, tenant_id: TenantId, member_id: MemberId) -> Result<Member, Abort<Refusal>> {
    let row = read.get(&MEMBERS, &(tenant_id, member_id))?.ok_or(Refusal::NotFound)?;
    Ok(row.into_member(read, tenant_id, member_id)?)
}

/// The live member of an e-mail address, ignoring case.
///
/// # Errors
/// Only the store's.
pub fn member_by_email(read: &impl Read, tenant_id: TenantId, email: &str) -> Result<Option<Member>, Failure> {
    let Some(folded) = folded_address(email) else { return Ok(None) };
    for mark in [email_mark(read, tenant_id, email)?, former_email_mark(read, tenant_id, email)?].into_iter().flatten()
    {
        let found = of_mark(read, tenant_id, read.get(&MEMBERS_BY_EMAIL, &(tenant_id, mark))?)?;
        // The mark alone does not tell: those of former versions fold letters that are not the same.
        let address = |member: &Member| folded_address(&member.person.as_ref()?.email);
        if let Some(member) = found.filter(|member| address(member).as_ref() == Some(&folded)) {
            return Ok(Some(member));
        }
    }
    Ok(None)
}

/// The live member that a subject of an issuer is bound to.
///
/// # Errors
/// Only the store's.
pub fn member_by_subject(read: &impl Read, tenant_id: TenantId, subject: &Subject) -> Result<Option<Member>, Failure> {
    let Some(mark) = subject_mark(read, tenant_id, subject)? else { return Ok(None) };
    of_mark(read, tenant_id, read.get(&MEMBERS_BY_SUBJECT, &(tenant_id, mark))?)
}

fn of_mark(read: &impl Read, tenant_id: TenantId, row: Option<MemberMarkRow>) -> Result<Option<Member>, Failure> {
    let Some(MemberMarkRow { member_id }) = row else { return Ok(None) };
    let Some(row) = read.get(&MEMBERS, &(tenant_id, member_id))? else {
        return Err(Failure::Damaged(format!("a mark is of the member {}, which there is not", member_id.0)));
    };
    row.into_member(read, tenant_id, member_id).map(Some)
}

/// The tenant's members behind `after`, oldest first, removed and erased ones among them; and whether there are more.
///
/// # Errors
/// Only the store's.
pub fn list_members(
    read: &impl Read,
    tenant_id: TenantId,
    after: Option<MemberId>,
    limit: usize,
) -> Result<(Vec<Member>, bool), Failure> {
    let mut scan = Scan::prefix(&(tenant_id,)).limit(limit + 1);
    if let Some(after) = after {
        scan = scan.after(&(tenant_id, after));
    }
    let rows = read.scan(&MEMBERS, scan)?;
    let more = rows.len() > limit;
    let found = rows.into_iter().take(limit);
    let members = found.map(|((_, member_id), row)| row.into_member(read, tenant_id, member_id));
    Ok((members.collect::<Result<_, _>>()?, more))
}

/// One service account.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_account(
    read: &impl Read,
    tenant_id: TenantId,
    account_id: AccountId,
) -> Result<ServiceAccount, Abort<Refusal>> {
    let row = read.get(&ACCOUNTS, &(tenant_id, account_id))?.ok_or(Refusal::NotFound)?;
    Ok(row.into_account(account_id))
}

/// The tenant's service accounts behind `after`, oldest first, revoked ones among them; and whether there are more.
///
/// # Errors
/// Only the store's.
pub fn list_accounts(
    read: &impl Read,
    tenant_id: TenantId,
    after: Option<AccountId>,
    limit: usize,
) -> Result<(Vec<ServiceAccount>, bool), Failure> {
    let mut scan = Scan::prefix(&(tenant_id,)).limit(limit + 1);
    if let Some(after) = after {
        scan = scan.after(&(tenant_id, after));
    }
    let rows = read.scan(&ACCOUNTS, scan)?;
    let more = rows.len() > limit;
    Ok((rows.into_iter().take(limit).map(|((_, account_id), row)| row.into_account(account_id)).collect(), more))
}

/// Whether there is a principal of the id that may act: a live member or an active service account.
///
/// # Errors
/// Only the store's.
pub fn is_live(read: &impl Read, tenant_id: TenantId, principal_id: Uuid) -> Result<bool, Failure> {
    if let Some(member) = read.get(&MEMBERS, &(tenant_id, MemberId(principal_id)))? {
        return Ok(member.status.is_live());
    }
    let account = read.get(&ACCOUNTS, &(tenant_id, AccountId(principal_id)))?;
    Ok(account.is_some_and(|account| account.status == AccountStatus::Active))
}

/// What kind of principal it is. Whoever is no member is a program.
///
/// # Errors
/// Only the store's.
pub fn kind_of(read: &impl Read, tenant_id: TenantId, principal_id: Uuid) -> Result<ActorKind, Failure> {
    let is_member = read.contains(&MEMBERS, &(tenant_id, MemberId(principal_id)))?;
    Ok(if is_member { ActorKind::Member } else { ActorKind::ServiceAccount })
}
