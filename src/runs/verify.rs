//! Whether all that is stored of runs agrees: rows, indexes, counts, events, and what was archived.

use std::collections::BTreeMap;

use quintet_storage::{Failure, Read, Scan, Snapshot, large};

use crate::changes::{Place, too_late_at};
use crate::model::{RunId, RunState, TenantId};
use crate::quotas;
use crate::tables::{
    ARCHIVES, ArchiveRow, BUSY, CHANGED_HOURS, DESCRIPTIONS, DUE, DUE_HOURS, DUE_OLD, DUE_TOO_LATE, EVENTS, LOADS,
    LoadRow, ORDINARY, QUOTAS, RUNS, RunRow, WAITING,
};
use crate::terms;

/// Rows read at a time.
const PAGE: usize = 500;
/// More findings than anybody reads.
const FINDINGS_MAX: usize = 100;

/// Finds what contradicts itself in the rows of runs.
///
/// # Errors
/// The store's failures.
pub fn verify(read: &Snapshot) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut loads: BTreeMap<TenantId, LoadRow> = BTreeMap::new();
    let mut after: Option<Place> = None;
    let (mut waiting, mut busy) = (0, 0);
    loop {
        let mut page = Scan::all().limit(PAGE);
        if let Some(after) = &after {
            page = page.after(after);
        }
        let rows = read.scan(&RUNS, page)?;
        let Some((last, _)) = rows.last() else { break };
        after = Some(*last);
        for (place, row) in &rows {
            let load = loads.entry(place.0).or_default();
            match row.state {
                RunState::Scheduled if row.class == ORDINARY => load.waiting += 1,
                RunState::Scheduled => load.deferred += 1,
                state if state.holds_slot() => load.busy += 1,
                _ => {}
            }
            waiting += usize::from(row.state == RunState::Scheduled);
            busy += usize::from(row.state.holds_slot());
            check(read, *place, row, &mut findings)?;
        }
        if findings.len() >= FINDINGS_MAX {
            return Ok(findings);
        }
    }
    loads.retain(|_, load| *load != LoadRow::default());
    if loads.into_iter().collect::<Vec<_>>() != read.scan(&LOADS, Scan::all())? {
        findings.push("the counts of waiting and busy runs are not those of the runs".to_owned());
    }
    for (name, found, counted) in [
        ("waiting", read.scan(&WAITING, Scan::all())?.len(), waiting),
        ("busy", read.scan(&BUSY, Scan::all())?.len(), busy),
    ] {
        if found != counted {
            findings.push(format!("{found} runs are listed as {name}, and {counted} are"));
        }
    }
    for (tenant_id, _) in read.scan(&QUOTAS, Scan::all())? {
        if let Err(Failure::Damaged(problem)) = quotas::hours(read, tenant_id) {
            findings.push(format!("tenant {tenant_id}: {problem}"));
        }
    }
    for (tenant_id, begun) in read.scan(&CHANGED_HOURS, Scan::all())? {
        if !read.contains(&DUE, &(begun.due_at, DUE_HOURS, RunId(tenant_id.0)))? {
            findings.push(format!("tenant {tenant_id}: its calendar has changed, and nobody looks at what waits"));
        }
    }
    terms::verify(read, &mut findings)?;
    Ok(findings)
}

fn check(read: &Snapshot, place: Place, row: &RunRow, findings: &mut Vec<String>) -> Result<(), Failure> {
    let (tenant_id, run_id) = place;
    let mut complain = |problem: &str| findings.push(format!("run {run_id} of tenant {tenant_id}: {problem}"));
    let is_indexed = match row.state {
        RunState::Scheduled => {
            read.contains(&WAITING, &(tenant_id, row.class, row.eligible_start, run_id))?
                && read.contains(&DUE, &(too_late_at(row), DUE_TOO_LATE, run_id))?
        }
        state if state.holds_slot() => read.contains(&BUSY, &run_id)?,
        _ => read.contains(&DUE, &(crate::changes::old_at(row), DUE_OLD, run_id))?,
    };
    if !is_indexed {
        complain("its index row is missing");
    }
    if !read.contains(&DESCRIPTIONS, &place)? {
        complain("what it is to run is missing");
    }
    let last = row.events.checked_sub(1).map(|number| (tenant_id, run_id, number));
    match last.map(|key| read.get(&EVENTS, &key)).transpose()?.flatten() {
        Some(event) if event.state == row.state => {}
        _ => complain("its last event is not that of its state"),
    }
    if let Some(ArchiveRow::Large(value)) = read.get(&ARCHIVES, &place)?
        && !large::is_sound(read, &value)?
    {
        complain("what it wrote is not as it was archived");
    }
    Ok(())
}
