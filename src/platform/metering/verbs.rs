//! Verbs and queries of quotas and usage.

use std::convert::Infallible;

use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};
use uuid::Uuid;

use super::tables::{Account, QUOTAS, QuotaRow, USAGE};
use crate::access::{Service, find_tenant};

/// What a root tenant may use of a service. Absent parts are unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Calls in a calendar month, UTC.
    pub monthly_calls: Option<u64>,
    /// Calls per second, and as many at once; at least 1.
    pub burst_per_second: Option<u32>,
}

/// Why a quota was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeteringRefusal {
    /// There is no such tenant.
    #[error("no such tenant")]
    TenantNotFound,
    /// Calls of sub-tenants count against their parent.
    #[error("calls of a sub-tenant count against its parent: set the parent's quota")]
    NotARootTenant,
    /// A burst rate of nothing would shut the tenant out for ever.
    #[error("a burst rate is at least 1 a second")]
    NoBurst,
}

impl quintet_storage::Refusal for MeteringRefusal {}

/// Sets what a root tenant may use of a service from the next call on.
///
/// # Errors
/// See [`MeteringRefusal`].
pub fn set_quota(
    tx: &mut WriteTx<'_>,
    _now: Timestamp,
    tenant_id: Uuid,
    service: Service,
    quota: Quota,
) -> Result<Quota, Abort<MeteringRefusal>> {
    let tenant = find_tenant(tx, tenant_id)?.ok_or(MeteringRefusal::TenantNotFound)?;
    if tenant.parent.is_some() {
        return Err(MeteringRefusal::NotARootTenant.into());
    }
    if quota.burst_per_second == Some(0) {
        return Err(MeteringRefusal::NoBurst.into());
    }
    let row = QuotaRow { monthly_calls: quota.monthly_calls, burst_per_second: quota.burst_per_second };
    tx.put(&QUOTAS, &(tenant_id, service.code()), &row)?;
    Ok(quota)
}

/// What a root tenant may use of a service.
///
/// # Errors
/// What the store answers.
pub fn find_quota(read: &impl Read, tenant_id: Uuid, service: Service) -> Result<Quota, Failure> {
    let row = read.get(&QUOTAS, &(tenant_id, service.code()))?.unwrap_or_default();
    Ok(Quota { monthly_calls: row.monthly_calls, burst_per_second: row.burst_per_second })
}

/// Adds calls; the totals afterwards, in the same order.
pub(super) fn add_usage(tx: &mut WriteTx<'_>, added: &[(Account, u64)]) -> Result<Vec<u64>, Abort<Infallible>> {
    let mut totals = Vec::with_capacity(added.len());
    for (account, calls) in added {
        let mut usage = tx.get(&USAGE, account)?.unwrap_or_default();
        usage.calls = usage.calls.saturating_add(*calls);
        tx.put(&USAGE, account, &usage)?;
        totals.push(usage.calls);
    }
    Ok(totals)
}
