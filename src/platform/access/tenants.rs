//! Verbs and queries of tenants.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};
use uuid::Uuid;

use super::model::{AccessRefusal, Services, Tenant, TenantStatus, check_name};
use super::tables::{ACTIVATIONS, ActivationRow, Mark, TENANTS, TENANTS_BY_PARENT, TenantRow};

/// A tenant to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTenant {
    /// The id it must have; `None`: a new one.
    pub id: Option<Uuid>,
    /// 1 to 255 characters.
    pub name: String,
    /// At least one; a sub-tenant's are among its parent's.
    pub services: Services,
    /// The root tenant it is a client of.
    pub parent: Option<Uuid>,
}

/// Creates an active tenant.
///
/// # Errors
/// See [`AccessRefusal`], in this order: name, services, id, parent.
pub fn create_tenant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    command: CreateTenant,
) -> Result<Tenant, Abort<AccessRefusal>> {
    check_name(&command.name)?;
    if command.services.is_empty() {
        return Err(AccessRefusal::NoServices.into());
    }
    let tenant_id = command.id.unwrap_or_else(|| tx.new_id());
    if tx.contains(&TENANTS, &tenant_id)? {
        return Err(AccessRefusal::TenantExists.into());
    }
    if let Some(parent) = command.parent {
        check_parent(tx, parent, command.services)?;
        tx.put(&TENANTS_BY_PARENT, &(parent, tenant_id), &Mark)?;
    }
    let tenant = Tenant {
        tenant_id,
        name: command.name,
        services: command.services,
        status: TenantStatus::Active,
        parent: command.parent,
        created_at: now,
    };
    tx.put(&TENANTS, &tenant_id, &TenantRow::of(&tenant))?;
    Ok(tenant)
}

fn check_parent(tx: &WriteTx<'_>, parent: Uuid, services: Services) -> Result<(), Abort<AccessRefusal>> {
    let row = tx.get(&TENANTS, &parent)?.ok_or(AccessRefusal::ParentNotFound)?;
    if row.parent().is_some() {
        return Err(AccessRefusal::ParentIsSubTenant.into());
    }
    if !row.services().contains_all(services) {
        return Err(AccessRefusal::ServicesNotOfParent.into());
    }
    Ok(())
}

/// Takes a tenant, and with it its sub-tenants, out of service. Again: the same answer.
///
/// # Errors
/// [`AccessRefusal::TenantNotFound`]
pub fn suspend_tenant(tx: &mut WriteTx<'_>, _now: Timestamp, tenant_id: Uuid) -> Result<Tenant, Abort<AccessRefusal>> {
    change(tx, tenant_id, |tenant| tenant.status = TenantStatus::Suspended)
}

/// Puts a tenant back into service. Again: the same answer.
///
/// # Errors
/// [`AccessRefusal::TenantNotFound`]
pub fn activate_tenant(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: Uuid) -> Result<Tenant, Abort<AccessRefusal>> {
    if tx.get(&TENANTS, &tenant_id)?.is_some_and(|tenant| tenant.suspended) {
        tx.put(&ACTIVATIONS, &tenant_id, &ActivationRow(now))?;
    }
    change(tx, tenant_id, |tenant| tenant.status = TenantStatus::Active)
}

/// Gives a tenant another name.
///
/// # Errors
/// [`AccessRefusal::InvalidName`], [`AccessRefusal::TenantNotFound`]
pub fn rename_tenant(
    tx: &mut WriteTx<'_>,
    _now: Timestamp,
    tenant_id: Uuid,
    name: String,
) -> Result<Tenant, Abort<AccessRefusal>> {
    check_name(&name)?;
    change(tx, tenant_id, |tenant| tenant.name = name)
}

fn change(
    tx: &mut WriteTx<'_>,
    tenant_id: Uuid,
    change: impl FnOnce(&mut Tenant),
) -> Result<Tenant, Abort<AccessRefusal>> {
    let before = find_tenant(tx, tenant_id)?.ok_or(AccessRefusal::TenantNotFound)?;
    let mut after = before.clone();
    change(&mut after);
    if after != before {
        tx.put(&TENANTS, &tenant_id, &TenantRow::of(&after))?;
    }
    Ok(after)
}

/// Whether a tenant, or its parent, is suspended. One that there is not is not.
///
/// # Errors
/// What the store answers.
pub fn is_suspended(read: &impl Read, tenant_id: Uuid) -> Result<bool, Failure> {
    read.get(&TENANTS, &tenant_id)?.map_or(Ok(false), |tenant| is_suspended_row(read, &tenant))
}

/// When a tenant, or its parent, was last put back into service after it was suspended: before that nobody could ask for
/// anything. `None`: never.
///
/// # Errors
/// What the store answers.
pub fn activated_at(read: &impl Read, tenant_id: Uuid) -> Result<Option<Timestamp>, Failure> {
    let own = read.get(&ACTIVATIONS, &tenant_id)?;
    let parent = match read.get(&TENANTS, &tenant_id)?.and_then(|tenant| tenant.parent()) {
        Some(parent_id) => read.get(&ACTIVATIONS, &parent_id)?,
        None => None,
    };
    Ok(own.into_iter().chain(parent).map(|ActivationRow(at)| at).max())
}

/// A sub-tenant is as active as its parent.
pub(super) fn is_suspended_row(read: &impl Read, tenant: &TenantRow) -> Result<bool, Failure> {
    let is_parent_active = match tenant.parent() {
        Some(parent_id) => read.get(&TENANTS, &parent_id)?.is_some_and(|parent| !parent.suspended),
        None => true,
    };
    Ok(tenant.suspended || !is_parent_active)
}

/// A tenant, by id.
///
/// # Errors
/// What the store answers.
pub fn find_tenant(read: &impl Read, tenant_id: Uuid) -> Result<Option<Tenant>, Failure> {
    Ok(read.get(&TENANTS, &tenant_id)?.map(|row| row.into_tenant(tenant_id)))
}

/// All tenants, sub-tenants included, by id (which is by creation, except for ids that were given), behind
/// `after`, at most `limit`.
///
/// # Errors
/// What the store answers.
pub fn list_tenants(read: &impl Read, after: Option<Uuid>, limit: usize) -> Result<Vec<Tenant>, Failure> {
    let scan = after.iter().fold(Scan::all(), Scan::after).limit(limit);
    let rows = read.scan(&TENANTS, scan)?;
    Ok(rows.into_iter().map(|(tenant_id, row)| row.into_tenant(tenant_id)).collect())
}

/// A tenant's sub-tenants by id, behind `after`, at most `limit`.
///
/// # Errors
/// What the store answers.
pub fn list_sub_tenants(
    read: &impl Read,
    parent: Uuid,
    after: Option<Uuid>,
    limit: usize,
) -> Result<Vec<Tenant>, Failure> {
    let mut scan = Scan::prefix(&(parent,)).limit(limit);
    if let Some(after) = after {
        scan = scan.after(&(parent, after));
    }
    let mut tenants = Vec::new();
    for ((_, tenant_id), Mark) in read.scan(&TENANTS_BY_PARENT, scan)? {
        tenants.extend(find_tenant(read, tenant_id)?);
    }
    Ok(tenants)
}
