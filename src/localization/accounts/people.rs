//! Members from the command line: inviting, finding, listing and removing people, and what is recorded of the links that
//! let them in at the console (8-console.md, "Who may what").

use quintet_platform::ids::parse_uuid;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::members::{CreateMember, create_member, remove_member};
use crate::access::{GRANTS, GRANTS_BY_PRINCIPAL, GRANTS_MAX};
use crate::audit::{self, Actor, Event};
use crate::model::TenantId;
use crate::principals::{
    ADDRESS_CHARS_MAX, COUNTS, MarkKey, Member, MemberId, get_member, is_address, list_members, member_by_email,
};
use crate::refusal::Refusal;

/// Members read at a time.
const PAGE_ROWS: usize = 500;

/// Somebody to be invited.
pub struct Invitation(CreateMember);

impl Invitation {
    /// Reads an e-mail address.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence for the operator.
    pub fn of(email: &str) -> Result<Invitation, String> {
        if !is_address(email) {
            return Err(format!("a member needs an e-mail address of at most {ADDRESS_CHARS_MAX} characters"));
        }
        Ok(Invitation(CreateMember { email: email.to_owned(), display_name: None, mark_key: MarkKey::draw() }))
    }
}

/// A member, as the operator is shown one. It has no `Debug`: what tells of a person does not belong in a log.
#[derive(Clone)]
pub struct Known {
    /// Its id.
    pub member_id: Uuid,
    /// Its address.
    pub email: String,
    /// `pending`, `active`, `removed` or `erased`.
    pub status: &'static str,
    /// Whether it may be let in.
    pub is_live: bool,
    /// When it was invited.
    pub created_at: Timestamp,
    /// The templates that it was granted, each with its scope's parts, such as `translator de`.
    pub templates: Vec<String>,
}

/// Invites a member as the operator; the member's id. `uid`: the operator's user on the appliance's machine.
///
/// # Errors
/// Refused with a sentence for the operator; the store's failures.
pub fn invite_member(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    invitation: Invitation,
    uid: u32,
) -> Result<Uuid, Abort<String>> {
    let made = create_member(tx, now, &Actor::operator_of(TenantId(tenant_id), uid), invitation.0);
    made.map(|member| member.member_id.0).map_err(told)
}

/// Removes a member as the operator: sessions, keys, grants and permits end with it. `uid`: as of [`invite_member`].
///
/// # Errors
/// Refused with a sentence for the operator; the store's failures.
pub fn remove_known(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    member_id: Uuid,
    uid: u32,
) -> Result<(), Abort<String>> {
    let actor = Actor::operator_of(TenantId(tenant_id), uid);
    remove_member(tx, now, &actor, MemberId(member_id)).map(drop).map_err(told)
}

/// Records that somebody on the appliance's machine made a link that lets a member in: whoever uses it sees what the
/// member sees. `uid`: as of [`invite_member`].
///
/// # Errors
/// Only the store's.
pub fn link_made(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    member_id: Uuid,
    uid: u32,
) -> Result<(), Failure> {
    let event = Event::about("member.link", "member", member_id);
    audit::record(tx, now, &Actor::operator_of(TenantId(tenant_id), uid), event).map(drop)
}

/// A live member by its address, or any by its id.
///
/// # Errors
/// Only the store's.
pub fn known_member(read: &impl Read, tenant_id: Uuid, wanted: &str) -> Result<Option<Known>, Failure> {
    let tenant_id = TenantId(tenant_id);
    let found = match parse_uuid(wanted) {
        Some(id) => match get_member(read, tenant_id, MemberId(id)) {
            Ok(member) => Some(member),
            Err(Abort::Refused(_)) => None,
            Err(Abort::Failed(failure)) => return Err(failure),
        },
        None => member_by_email(read, tenant_id, wanted)?,
    };
    found.map(|member| known(read, tenant_id, &member)).transpose()
}

/// All members of a tenant, the oldest first: a bounded number.
///
/// # Errors
/// Only the store's.
pub fn known_members(read: &impl Read, tenant_id: Uuid) -> Result<Vec<Known>, Failure> {
    let tenant_id = TenantId(tenant_id);
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (page, more) = list_members(read, tenant_id, after, PAGE_ROWS)?;
        after = page.last().map(|last| last.member_id);
        for member in &page {
            all.push(known(read, tenant_id, member)?);
        }
        if !more {
            return Ok(all);
        }
    }
}

/// How many members a tenant has that may be let in.
///
/// # Errors
/// Only the store's.
pub fn count_members(read: &impl Read, tenant_id: Uuid) -> Result<u32, Failure> {
    Ok(read.get(&COUNTS, &TenantId(tenant_id))?.unwrap_or_default().live_members)
}

fn known(read: &impl Read, tenant_id: TenantId, member: &Member) -> Result<Known, Failure> {
    Ok(Known {
        member_id: member.member_id.0,
        email: member.email(),
        status: member.status.name(),
        is_live: member.status.is_live(),
        created_at: member.created_at,
        templates: templates_of(read, tenant_id, member.member_id.0)?,
    })
}

/// What a principal was granted and still has.
fn templates_of(read: &impl Read, tenant_id: TenantId, principal_id: Uuid) -> Result<Vec<String>, Failure> {
    let mut templates = Vec::new();
    let scan = Scan::prefix(&(tenant_id, principal_id)).limit(GRANTS_MAX);
    for ((.., grant_id), _) in read.scan(&GRANTS_BY_PRINCIPAL, scan)? {
        let Some(row) = read.get(&GRANTS, &(tenant_id, grant_id))?.filter(|row| row.revoked_at.is_none()) else {
            continue;
        };
        let place = row.scope.project_id.map(|id| id.0).or(row.scope.workspace_id.map(|id| id.0));
        let parts = [Some(row.template), place.map(|id| id.to_string()), row.scope.locale];
        templates.push(parts.into_iter().flatten().collect::<Vec<_>>().join(" "));
    }
    Ok(templates)
}

fn told(abort: Abort<Refusal>) -> Abort<String> {
    match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(Refusal::Conflict(reason)) => Abort::Refused(reason.to_string()),
        Abort::Refused(Refusal::NotFound) => Abort::Refused("there is no such member".to_owned()),
        Abort::Refused(_) => Abort::Refused("this cannot be done with the member".to_owned()),
    }
}
