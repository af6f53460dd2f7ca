//! How many alarms a tenant has that count against its limits, and how much they may tell.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::model::Counts;
use super::tables::{COUNTS, CountsRow, DAYS, DayRow};
use crate::allowances::model::utc_day;
use crate::model::TenantId;

/// How many a tenant has.
pub(crate) fn of(read: &impl Read, tenant_id: TenantId) -> Result<Counts, Failure> {
    Ok(read.get(&COUNTS, &tenant_id)?.map_or_else(Counts::default, |CountsRow(counts)| counts))
}

/// Counts one more or less.
pub(crate) fn count(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    change: impl FnOnce(&mut Counts),
) -> Result<(), Failure> {
    let mut counts = of(tx, tenant_id)?;
    change(&mut counts);
    if counts == Counts::default() {
        tx.delete(&COUNTS, &tenant_id);
        return Ok(());
    }
    tx.put(&COUNTS, &tenant_id, &CountsRow(counts))
}

/// What the alarms of a tenant tell on a day, UTC, at the most: 69 schedules of every minute. What is told is kept for weeks,
/// with payloads of 16 KiB.
pub(crate) const TOLD_OF_DAY_MAX: u64 = 100_000;

/// Counts what is to be told against the day's bound; false if it may not be.
pub(crate) fn charge(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId, more: u64) -> Result<bool, Failure> {
    let day = utc_day(now);
    let known = tx.get(&DAYS, &tenant_id)?.filter(|row| row.day == day);
    let told = known.map_or(0, |row| row.told).saturating_add(more);
    if told > TOLD_OF_DAY_MAX {
        return Ok(false);
    }
    tx.put(&DAYS, &tenant_id, &DayRow { day, told })?;
    Ok(true)
}

/// What was counted at an instant is not told after all: if that was today, it counts no more.
pub(crate) fn give_back(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    at: Timestamp,
) -> Result<(), Failure> {
    let day = utc_day(now);
    match tx.get(&DAYS, &tenant_id)? {
        Some(row) if row.day == day && utc_day(at) == day => {
            tx.put(&DAYS, &tenant_id, &DayRow { day, told: row.told.saturating_sub(1) })
        }
        _ => Ok(()),
    }
}

/// What is written down of tenants is what was found of them.
pub(crate) fn verify(
    read: &impl Read,
    mut found: BTreeMap<TenantId, Counts>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    found.retain(|_, counts| *counts != Counts::default());
    each(read, &COUNTS, findings, |tenant_id, CountsRow(counts), findings| {
        let counted = found.remove(&tenant_id).unwrap_or_default();
        if counted != counts {
            findings.push(format!("tenant {tenant_id} has {counted:?}, and it says {counts:?}"));
        }
        Ok(())
    })?;
    let left =
        found.into_iter().map(|(tenant_id, counts)| format!("nobody has counted {counts:?} of tenant {tenant_id}"));
    findings.extend(left);
    Ok(())
}
