//! How many runs a tenant has submitted today, UTC.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{seconds_to_midnight, utc_day};
use super::tables::{DAYS, DayRow};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// How many days the number of submissions is kept.
const DAYS_KEPT: i64 = 7;
/// Old days that are taken away with the first submission of a new one.
const DAYS_AT_ONCE: usize = 10;

/// Counts runs against the day's quota: all of them or none.
pub(crate) fn charge(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    runs: u64,
    max_daily_runs: u64,
) -> Result<(), Abort<Refusal>> {
    let day = utc_day(now);
    let DayRow { submitted } = tx.get(&DAYS, &(tenant_id, day))?.unwrap_or_default();
    if submitted.saturating_add(runs) > max_daily_runs {
        return Err(Refusal::DailyQuota(seconds_to_midnight(now)).into());
    }
    if submitted == 0 {
        let old = Scan::prefix(&(tenant_id,)).until(&(tenant_id, day - DAYS_KEPT)).limit(DAYS_AT_ONCE);
        for (key, _) in tx.scan(&DAYS, old)? {
            tx.delete(&DAYS, &key);
        }
    }
    tx.put(&DAYS, &(tenant_id, day), &DayRow { submitted: submitted + runs })?;
    Ok(())
}

/// How many runs a tenant has submitted today.
pub(crate) fn submitted(read: &impl Read, now: Timestamp, tenant_id: TenantId) -> Result<u64, Failure> {
    Ok(read.get(&DAYS, &(tenant_id, utc_day(now)))?.unwrap_or_default().submitted)
}
