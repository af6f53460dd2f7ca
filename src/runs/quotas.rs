//! What a tenant may: the contract's defaults, what was set for it, within the operator's ceilings; and what it has used.

use quintet_storage::{Failure, Read, Timestamp};

use crate::model::{Ceilings, Quotas, TenantId, utc_day};
use crate::tables::{DAYS, DayRow, LOADS, LoadRow, QUOTAS};

/// The quotas in force for a tenant.
///
/// # Errors
/// The store's failures.
pub(crate) fn effective(read: &impl Read, tenant_id: TenantId, ceilings: &Ceilings) -> Result<Quotas, Failure> {
    let mut quotas = Quotas::default();
    for (name, number) in read.get(&QUOTAS, &tenant_id)?.unwrap_or_default().numbers {
        if let Some(value) = quotas.by_name(&name) {
            *value = number;
        }
    }
    Ok(quotas.within(ceilings))
}

/// What a tenant has going, and how many runs it has submitted today.
///
/// # Errors
/// The store's failures.
pub(crate) fn used(read: &impl Read, tenant_id: TenantId, now: Timestamp) -> Result<(LoadRow, DayRow), Failure> {
    let load = read.get(&LOADS, &tenant_id)?.unwrap_or_default();
    let day = read.get(&DAYS, &(tenant_id, utc_day(now)))?.unwrap_or_default();
    Ok((load, day))
}
