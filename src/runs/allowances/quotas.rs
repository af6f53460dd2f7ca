//! What holds for a tenant: the contract's defaults, what was set for it, within the operator's ceilings.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::calendar::Calendar;
use super::model::{Ceilings, Hours, InForce, QUOTA_KINDS, Quotas, SetQuotas};
use super::tables::{CEILINGS, CeilingsRow, QUOTAS};
use crate::model::TenantId;

/// Calendars kept read, with at most 16 KiB of text each.
const CALENDARS_KEPT: usize = 256;

/// Calendars by their text: reading one is a function of the text alone, and the dispatcher asks every second.
static CALENDARS: LazyLock<Mutex<HashMap<String, Arc<Calendar>>>> = LazyLock::new(Mutex::default);

/// What is in force for a tenant.
///
/// # Errors
/// The store's failures; it counts as damage if the working hours are not a calendar.
pub(crate) fn effective(read: &impl Read, tenant_id: TenantId, ceilings: &Ceilings) -> Result<InForce, Failure> {
    let set = read.get(&QUOTAS, &tenant_id)?.unwrap_or_default();
    let quotas = within(set.numbers, ceilings);
    let hours = Hours(set.working_hours_tjp.as_deref().map(calendar).transpose()?);
    Ok(InForce { quotas, working_hours_tjp: set.working_hours_tjp, hours })
}

/// What is in force for a tenant where no request asks, within the ceilings that were kept at the start.
///
/// # Errors
/// Those of [`effective`].
pub(crate) fn in_force(read: &impl Read, tenant_id: TenantId) -> Result<InForce, Failure> {
    let CeilingsRow(ceilings) = read.get(&CEILINGS, &())?.unwrap_or_default();
    effective(read, tenant_id, &Ceilings(ceilings))
}

/// The numbers in force for a tenant, without its working hours.
///
/// # Errors
/// The store's failures.
pub(crate) fn numbers(read: &impl Read, tenant_id: TenantId, ceilings: &Ceilings) -> Result<Quotas, Failure> {
    Ok(within(read.get(&QUOTAS, &tenant_id)?.unwrap_or_default().numbers, ceilings))
}

/// The numbers in force for a tenant where something is told, within the ceilings that were kept at the start.
///
/// # Errors
/// The store's failures.
pub(crate) fn of_telling(read: &impl Read, tenant_id: TenantId) -> Result<Quotas, Failure> {
    let CeilingsRow(ceilings) = read.get(&CEILINGS, &())?.unwrap_or_default();
    numbers(read, tenant_id, &Ceilings(ceilings))
}

/// Whether these are the ceilings that were kept.
///
/// # Errors
/// The store's failures.
pub(crate) fn are_kept(read: &impl Read, ceilings: &Ceilings) -> Result<bool, Failure> {
    Ok(read.get(&CEILINGS, &())?.unwrap_or_default().0 == ceilings.0)
}

/// Keeps the ceilings.
///
/// # Errors
/// The store's failures.
pub(crate) fn keep_ceilings(tx: &mut WriteTx<'_>, ceilings: Ceilings) -> Result<(), Failure> {
    tx.put(&CEILINGS, &(), &CeilingsRow(ceilings.0))
}

fn within(set: Vec<(String, u64)>, ceilings: &Ceilings) -> Quotas {
    let mut quotas = Quotas::default();
    for (name, number) in set {
        if let Some(value) = quotas.by_name(&name) {
            *value = number;
        }
    }
    quotas.within(ceilings)
}

/// The working hours of a tenant.
///
/// # Errors
/// Those of [`effective`].
pub(crate) fn hours(read: &impl Read, tenant_id: TenantId) -> Result<Hours, Failure> {
    let set = read.get(&QUOTAS, &tenant_id)?.unwrap_or_default();
    Ok(Hours(set.working_hours_tjp.as_deref().map(calendar).transpose()?))
}

/// The calendar of a text that was accepted once.
fn calendar(text: &str) -> Result<Arc<Calendar>, Failure> {
    let known = CALENDARS.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
    if let Some(calendar) = known {
        return Ok(calendar);
    }
    let calendar = Calendar::parse(text)
        .map_err(|error| Failure::Damaged(format!("the working hours of a tenant are not a calendar: {error}")))?;
    let calendar = Arc::new(calendar);
    let mut calendars = CALENDARS.lock().unwrap_or_else(PoisonError::into_inner);
    // Any one goes: with a few more in use than are kept, most are still found.
    if calendars.len() >= CALENDARS_KEPT
        && let Some(one) = calendars.keys().next().cloned()
    {
        calendars.remove(&one);
    }
    calendars.insert(text.to_owned(), Arc::clone(&calendar));
    Ok(calendar)
}

/// Changes quotas; says whether the working hours are others now. Then all that waits is looked at anew:
/// `containers::hours` calls this and sees to it.
///
/// # Errors
/// The store's failures.
pub(crate) fn set(tx: &mut WriteTx<'_>, tenant_id: TenantId, asked: SetQuotas) -> Result<bool, Failure> {
    let mut row = tx.get(&QUOTAS, &tenant_id)?.unwrap_or_default();
    let mut defaults = Quotas::default();
    for (name, value) in asked.numbers {
        row.numbers.retain(|(known, _)| known != name);
        if defaults.by_name(name).is_some_and(|default| *default != value) {
            row.numbers.push((name.to_owned(), value));
        }
    }
    row.numbers.sort_by_key(|(name, _)| QUOTA_KINDS.iter().position(|kind| kind.name == name));
    let hours = asked.working_hours_tjp.filter(|hours| *hours != row.working_hours_tjp);
    let are_hours_new = hours.is_some();
    row.working_hours_tjp = hours.unwrap_or(row.working_hours_tjp);
    tx.put(&QUOTAS, &tenant_id, &row)?;
    Ok(are_hours_new)
}

/// Finds working hours that are no calendar.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    for (tenant_id, _) in read.scan(&QUOTAS, Scan::all())? {
        if let Err(Failure::Damaged(problem)) = hours(read, tenant_id) {
            findings.push(format!("tenant {tenant_id}: {problem}"));
        }
    }
    Ok(())
}
