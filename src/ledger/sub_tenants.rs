//! Sub-tenants: clients of a root tenant, administered by its partner keys, which never see their ledgers.
//!
//! A sub-tenant is a tenant of the platform with a parent, provisioned for the ledger alone. What the platform does not
//! know of it, its kind and whom to write to, stands here.

use quintet_platform::access::{
    self, AccessRefusal, CreateTenant, IssueKey, IssuedKey, KeyRecord, PreparedSecret, Service, Services, Tenant,
    TenantStatus,
};
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use crate::model::{NAME_CHARS_MAX, Role, SubTenantKind, TenantId};
use crate::refusal::Refusal;
use crate::tables::{SUB_TENANTS, SubTenantRow};

/// How many keys are read at a time.
const KEYS_PAGE: usize = 1000;
/// The most keys of a sub-tenant, revoked and expired ones included.
const KEYS_MAX: usize = 10_000;

/// Creates a sub-tenant.
#[derive(Clone, Debug)]
pub struct CreateSubTenant {
    /// Whose client it is.
    pub parent: TenantId,
    /// Its name, 1 to 255 characters.
    pub name: String,
    /// What it is for; never changes.
    pub kind: SubTenantKind,
    /// Whom to write to, at most 255 characters.
    pub contact_email: String,
}

/// Changes a sub-tenant. Absent parts stay as they are.
#[derive(Clone, Debug)]
pub struct PatchSubTenant {
    /// Whose client it is.
    pub parent: TenantId,
    /// Which one.
    pub sub_tenant_id: TenantId,
    /// Its new name.
    pub name: Option<String>,
    /// Its new status.
    pub status: Option<TenantStatus>,
}

/// Issues a key of a sub-tenant.
#[derive(Debug)]
pub struct IssueSubTenantKey {
    /// Whose client it is.
    pub parent: TenantId,
    /// Whose key it will be.
    pub sub_tenant_id: TenantId,
    /// What people call it, at most 255 characters.
    pub label: String,
    /// What it may do.
    pub role: Role,
    /// How long it lives, 1 to 3650 days; absent: until it is revoked.
    pub ttl_days: Option<u32>,
    /// Its id, if it has been chosen; and its secret.
    pub drawn: (Option<Uuid>, PreparedSecret),
}

/// Revokes a key of a sub-tenant.
#[derive(Clone, Debug)]
pub struct RevokeSubTenantKey {
    /// Whose client it is.
    pub parent: TenantId,
    /// Whose key it is.
    pub sub_tenant_id: TenantId,
    /// The key's id.
    pub key_id: String,
}

/// A sub-tenant as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubTenant {
    /// What the platform knows.
    pub tenant: Tenant,
    /// What the ledger knows.
    pub row: SubTenantRow,
}

/// Creates a sub-tenant, active.
///
/// # Errors
/// [`Refusal::InvalidTenant`] for the name or the address, and if the parent is a sub-tenant itself.
pub fn create_sub_tenant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    command: CreateSubTenant,
) -> Result<SubTenant, Abort<Refusal>> {
    check_email(&command.contact_email)?;
    let create = CreateTenant {
        id: None,
        name: command.name,
        services: Services::from(Service::Ledger),
        parent: Some(command.parent.0),
    };
    let tenant = access::create_tenant(tx, now, create).map_err(of_access)?;
    let row = SubTenantRow { kind: command.kind, contact_email: command.contact_email };
    tx.put(&SUB_TENANTS, &TenantId(tenant.tenant_id), &row)?;
    Ok(SubTenant { tenant, row })
}

/// Changes a sub-tenant: all of the parts given, or none.
///
/// # Errors
/// [`Refusal::SubTenantNotFound`], [`Refusal::InvalidTenant`] for the name.
pub fn patch_sub_tenant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    command: PatchSubTenant,
) -> Result<SubTenant, Abort<Refusal>> {
    let mut sub_tenant = find_sub_tenant(tx, command.parent, command.sub_tenant_id)?;
    let id = command.sub_tenant_id.0;
    if let Some(name) = command.name {
        sub_tenant.tenant = access::rename_tenant(tx, now, id, name).map_err(of_access)?;
    }
    sub_tenant.tenant = match command.status {
        None => sub_tenant.tenant,
        Some(TenantStatus::Active) => access::activate_tenant(tx, now, id).map_err(of_access)?,
        Some(TenantStatus::Suspended) => access::suspend_tenant(tx, now, id).map_err(of_access)?,
    };
    Ok(sub_tenant)
}

/// A tenant's sub-tenants, oldest first, behind `after`; and whether more follow.
///
/// # Errors
/// Only the store's.
pub fn list_sub_tenants(
    read: &impl Read,
    parent: TenantId,
    after: Option<TenantId>,
    limit: usize,
) -> Result<(Vec<SubTenant>, bool), Abort<Refusal>> {
    let mut tenants = access::list_sub_tenants(read, parent.0, after.map(|id| id.0), limit.saturating_add(1))?;
    let more = tenants.len() > limit;
    tenants.truncate(limit);
    let known = tenants.into_iter().map(|tenant| known(read, tenant)).collect::<Result<_, Failure>>()?;
    Ok((known, more))
}

/// One sub-tenant of a tenant.
///
/// # Errors
/// [`Refusal::SubTenantNotFound`].
pub fn find_sub_tenant(read: &impl Read, parent: TenantId, id: TenantId) -> Result<SubTenant, Abort<Refusal>> {
    let tenant = access::find_tenant(read, id.0)?.filter(|tenant| tenant.parent == Some(parent.0));
    Ok(known(read, tenant.ok_or(Refusal::SubTenantNotFound)?)?)
}

/// Issues a key.
///
/// # Errors
/// [`Refusal::SubTenantNotFound`]; [`Refusal::InvalidKey`] for the label or the life.
pub fn issue_sub_tenant_key(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    command: IssueSubTenantKey,
) -> Result<IssuedKey, Abort<Refusal>> {
    find_sub_tenant(tx, command.parent, command.sub_tenant_id)?;
    let (id, secret) = command.drawn;
    let id = id.unwrap_or_else(|| tx.new_id());
    let issue = IssueKey {
        tenant_id: command.sub_tenant_id.0,
        principal_id: None,
        label: command.label,
        permissions: command.role.permissions(),
        ttl_days: command.ttl_days,
        secret,
    };
    access::issue_key_as(tx, now, id, issue).map_err(of_access)
}

/// Whether a sub-tenant has as many keys as it may have. All of them are listed at once (contract 3, A), so they are
/// bounded; those that are issued side by side may pass the bound by a few.
///
/// # Errors
/// Only the store's.
pub fn are_all_issued(read: &impl Read, sub_tenant_id: TenantId) -> Result<bool, Failure> {
    Ok(access::list_keys(read, sub_tenant_id.0, None, KEYS_MAX)?.len() >= KEYS_MAX)
}

/// A sub-tenant's keys, oldest first, revoked and expired ones included.
///
/// # Errors
/// [`Refusal::SubTenantNotFound`].
pub fn list_sub_tenant_keys(
    read: &impl Read,
    parent: TenantId,
    sub_tenant_id: TenantId,
) -> Result<Vec<KeyRecord>, Abort<Refusal>> {
    find_sub_tenant(read, parent, sub_tenant_id)?;
    let mut keys: Vec<KeyRecord> = Vec::new();
    loop {
        let after = keys.last().map(|key| key.key_id.clone());
        let page = access::list_keys(read, sub_tenant_id.0, after.as_deref(), KEYS_PAGE)?;
        let is_last = page.len() < KEYS_PAGE;
        keys.extend(page);
        if is_last {
            return Ok(keys);
        }
    }
}

/// Whether a key may be revoked: it is there, and the sub-tenant's own.
///
/// # Errors
/// [`Refusal::SubTenantNotFound`], [`Refusal::KeyNotFound`].
pub fn find_sub_tenant_key(read: &impl Read, command: &RevokeSubTenantKey) -> Result<KeyRecord, Abort<Refusal>> {
    find_sub_tenant(read, command.parent, command.sub_tenant_id)?;
    let key = access::find_key(read, &command.key_id)?.filter(|key| key.tenant_id == command.sub_tenant_id.0);
    Ok(key.ok_or(Refusal::KeyNotFound)?)
}

/// Revokes a key. Again: the same answer.
///
/// # Errors
/// [`Refusal::SubTenantNotFound`], [`Refusal::KeyNotFound`].
pub fn revoke_sub_tenant_key(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    command: RevokeSubTenantKey,
) -> Result<KeyRecord, Abort<Refusal>> {
    find_sub_tenant(tx, command.parent, command.sub_tenant_id)?;
    access::revoke_key(tx, now, Some(command.sub_tenant_id.0), &command.key_id).map_err(of_access)
}

fn known(read: &impl Read, tenant: Tenant) -> Result<SubTenant, Failure> {
    let row = read.get(&SUB_TENANTS, &TenantId(tenant.tenant_id))?;
    let row = row.ok_or_else(|| Failure::Damaged(format!("sub-tenant {} lacks its row", tenant.tenant_id)))?;
    Ok(SubTenant { tenant, row })
}

/// One `@` with something on both sides, and nothing that no address has. Whether somebody reads it shows when it is
/// written to.
fn check_email(text: &str) -> Result<(), Refusal> {
    let has_parts = text
        .split_once('@')
        .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    let is_plain = !text.chars().any(|c| c.is_control() || c.is_whitespace());
    if has_parts && is_plain && text.chars().count() <= NAME_CHARS_MAX {
        Ok(())
    } else {
        Err(Refusal::InvalidTenant("contact_email is an address of at most 255 characters"))
    }
}

/// The platform's refusals in the ledger's words.
fn of_access(abort: Abort<AccessRefusal>) -> Abort<Refusal> {
    let refusal = match abort {
        Abort::Failed(failure) => return Abort::Failed(failure),
        Abort::Refused(refusal) => refusal,
    };
    Abort::Refused(match refusal {
        AccessRefusal::InvalidName => Refusal::InvalidTenant("name has 1 to 255 characters and no control characters"),
        AccessRefusal::ParentIsSubTenant => Refusal::InvalidTenant("a sub-tenant cannot have sub-tenants"),
        AccessRefusal::InvalidLabel => {
            Refusal::InvalidKey("label has at most 255 characters and no control characters")
        }
        AccessRefusal::InvalidTtl => Refusal::InvalidKey("ttl_days is 1 to 3650"),
        AccessRefusal::TenantNotFound => Refusal::SubTenantNotFound,
        AccessRefusal::KeyNotFound => Refusal::KeyNotFound,
        AccessRefusal::TenantExists
        | AccessRefusal::ParentNotFound
        | AccessRefusal::ServicesNotOfParent
        | AccessRefusal::NoServices
        | AccessRefusal::InvalidPermission => Refusal::internal(),
    })
}
