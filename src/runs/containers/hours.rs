//! Another calendar: the starts of all that waits are decided anew, a slice in each transaction.
//!
//! A start is decided when a run is submitted, and again, for all that wait, when the calendar changes. Between the two
//! a calendar that closes holds back what is eligible already and moves it only once it would have waited too long: its
//! place in the queue stays, and closing time costs nothing.

use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::changes::{find, move_start};
use super::tables::{CHANGED_HOURS, ChangedHoursRow, WAITING};
use crate::allowances::model::SetQuotas;
use crate::allowances::quotas;
use crate::due::{self, Due};
use crate::model::TenantId;

/// Runs looked at in one transaction.
const SLICE: usize = 100;

/// Changes quotas. Another calendar has all that waits looked at anew, from the first run on.
///
/// # Errors
/// The store's failures.
pub(crate) fn set_quotas(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    asked: SetQuotas,
) -> Result<(), Failure> {
    if !quotas::set(tx, tenant_id, asked)? {
        return Ok(());
    }
    let due_at = tx.get(&CHANGED_HOURS, &tenant_id)?.map_or(now, |begun| begun.due_at);
    tx.put(&CHANGED_HOURS, &tenant_id, &ChangedHoursRow { due_at, after: None })?;
    due::put(tx, due_at, Due::Hours(tenant_id))
}

/// Decides the starts of the next waiting runs of a tenant anew, by the calendar that it has now.
///
/// # Errors
/// The store's failures.
pub(crate) fn decide_anew(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId) -> Result<(), Failure> {
    let Some(begun) = tx.get(&CHANGED_HOURS, &tenant_id)? else {
        return Err(Failure::Damaged("a calendar that has changed has no row".to_owned()));
    };
    let hours = quotas::hours(tx, tenant_id)?;
    let mut scan = Scan::prefix(&(tenant_id,)).limit(SLICE);
    if let Some((class, eligible_start, run_id)) = begun.after {
        scan = scan.after(&(tenant_id, class, eligible_start, run_id));
    }
    let waiting = tx.scan(&WAITING, scan)?;
    for ((_, _, eligible_start, run_id), _) in &waiting {
        let run_key = (tenant_id, *run_id);
        // What is eligible keeps its place: the dispatcher holds it back for as long as the calendar is closed.
        if *eligible_start <= now {
            continue;
        }
        let Some(before) = find(tx, run_key)? else {
            return Err(Failure::Damaged("a waiting run has no row".to_owned()));
        };
        let start = hours.start(before.scheduled_start.map_or(now, |start| start.max(now)));
        if start != (before.eligible_start, before.working_hours_applied) {
            move_start(tx, now, run_key, &before, start)?;
        }
    }
    match waiting.last() {
        Some(((_, class, eligible_start, run_id), _)) if waiting.len() == SLICE => {
            let after = Some((*class, *eligible_start, *run_id));
            tx.put(&CHANGED_HOURS, &tenant_id, &ChangedHoursRow { after, ..begun })
        }
        _ => {
            tx.delete(&CHANGED_HOURS, &tenant_id);
            due::clear(tx, begun.due_at, Due::Hours(tenant_id));
            Ok(())
        }
    }
}

/// Finds calendars that have changed while nobody looks at what waits.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    for (tenant_id, begun) in read.scan(&CHANGED_HOURS, Scan::all())? {
        if !due::is_put(read, begun.due_at, Due::Hours(tenant_id))? {
            findings.push(format!("tenant {tenant_id}: its calendar has changed, and nobody looks at what waits"));
        }
    }
    Ok(())
}
