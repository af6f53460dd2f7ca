//! What a tenant may: the contract's defaults, what was set for it, within the operator's ceilings; and what it has used.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use crate::calendar::Calendar;
use crate::model::{Ceilings, QUOTA_KINDS, Quotas, RunId, TenantId, utc_day};
use crate::tables::{CHANGED_HOURS, ChangedHoursRow, DAYS, DUE, DUE_HOURS, DayRow, DueRow, LOADS, LoadRow, QUOTAS};

/// Calendars kept read, with at most 16 KiB of text each.
const CALENDARS_KEPT: usize = 256;

/// Calendars by their text: reading one is a function of the text alone, and the dispatcher asks every second.
static CALENDARS: LazyLock<Mutex<HashMap<String, Arc<Calendar>>>> = LazyLock::new(Mutex::default);

/// What holds for a tenant.
#[derive(Clone, Debug)]
pub(crate) struct InForce {
    pub(crate) quotas: Quotas,
    /// The working hours as they were written.
    pub(crate) working_hours_tjp: Option<String>,
    /// The same, read.
    pub(crate) hours: Hours,
}

/// The working hours of a tenant: a calendar, or always.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hours(pub(crate) Option<Arc<Calendar>>);

impl Hours {
    /// Whether runs may start at this instant.
    pub(crate) fn is_open(&self, at: Timestamp) -> bool {
        self.0.as_ref().is_none_or(|calendar| calendar.is_open(at))
    }

    /// When a run that would start at `at` may, and whether the calendar has moved that.
    pub(crate) fn start(&self, at: Timestamp) -> (Timestamp, bool) {
        let open = self.0.as_ref().map_or(at, |calendar| calendar.next_open(at));
        (open, open != at)
    }
}

/// What is in force for a tenant.
///
/// # Errors
/// The store's failures; it counts as damage if the working hours are not a calendar.
pub(crate) fn effective(read: &impl Read, tenant_id: TenantId, ceilings: &Ceilings) -> Result<InForce, Failure> {
    let set = read.get(&QUOTAS, &tenant_id)?.unwrap_or_default();
    let mut quotas = Quotas::default();
    for (name, number) in set.numbers {
        if let Some(value) = quotas.by_name(&name) {
            *value = number;
        }
    }
    let hours = Hours(set.working_hours_tjp.as_deref().map(calendar).transpose()?);
    Ok(InForce { quotas: quotas.within(ceilings), working_hours_tjp: set.working_hours_tjp, hours })
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
    if calendars.len() >= CALENDARS_KEPT {
        calendars.clear();
    }
    calendars.insert(text.to_owned(), Arc::clone(&calendar));
    Ok(calendar)
}

/// A change of quotas: checked, but not against each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetQuotas {
    /// By name, processor time in thousandths of a core.
    pub(crate) numbers: Vec<(&'static str, u64)>,
    /// A calendar that can be read, or none; nothing if it stays as it is.
    pub(crate) working_hours_tjp: Option<Option<String>>,
}

/// Changes quotas. Another calendar has all that waits looked at anew.
///
/// # Errors
/// The store's failures.
pub(crate) fn set(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId, asked: SetQuotas) -> Result<(), Failure> {
    let mut row = tx.get(&QUOTAS, &tenant_id)?.unwrap_or_default();
    let mut defaults = Quotas::default();
    for (name, value) in asked.numbers {
        row.numbers.retain(|(known, _)| known != name);
        if defaults.by_name(name).is_some_and(|default| *default != value) {
            row.numbers.push((name.to_owned(), value));
        }
    }
    row.numbers.sort_by_key(|(name, _)| QUOTA_KINDS.iter().position(|kind| kind.name == name));
    if let Some(hours) = asked.working_hours_tjp
        && hours != row.working_hours_tjp
    {
        row.working_hours_tjp = hours;
        hours_changed(tx, now, tenant_id)?;
    }
    tx.put(&QUOTAS, &tenant_id, &row)
}

/// Has the starts of a tenant's waiting runs decided anew, from the first one on.
fn hours_changed(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId) -> Result<(), Failure> {
    let due_at = tx.get(&CHANGED_HOURS, &tenant_id)?.map_or(now, |begun| begun.due_at);
    tx.put(&CHANGED_HOURS, &tenant_id, &ChangedHoursRow { due_at, after: None })?;
    tx.put(&DUE, &(due_at, DUE_HOURS, RunId(tenant_id.0)), &DueRow { tenant_id })
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
