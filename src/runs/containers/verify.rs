//! Whether all that is stored of runs agrees: rows, indexes, counts, events, and what was archived.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Scan, Snapshot};

use super::model::{Class, Load, Run};
use super::tables::{BUSY, DESCRIPTIONS, EVENTS, RUNS, WAITING};
use super::{archive, changes, hours, loads};
use crate::due::{self, Due};
use crate::model::{RunKey, TenantId};
use crate::states::RunState;

/// Rows read at a time.
const PAGE: usize = 500;
/// More findings than anybody reads.
const FINDINGS_MAX: usize = 100;

/// Finds what contradicts itself in the rows of runs.
pub(crate) fn verify(read: &Snapshot, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut counted: BTreeMap<TenantId, Load> = BTreeMap::new();
    let mut after: Option<RunKey> = None;
    let (mut waiting, mut busy) = (0, 0);
    loop {
        let mut page = Scan::all().limit(PAGE);
        if let Some(after) = &after {
            page = page.after(after);
        }
        let rows = read.scan(&RUNS, page)?;
        let Some((last, _)) = rows.last() else { break };
        after = Some(*last);
        for (run_key, row) in rows {
            let run = Run::from(row);
            let load = counted.entry(run_key.0).or_default();
            match (run.state, run.class) {
                (RunState::Scheduled, Class::Ordinary) => load.waiting += 1,
                (RunState::Scheduled, Class::Deferred) => load.deferred += 1,
                (state, _) if state.holds_slot() => load.busy += 1,
                _ => {}
            }
            waiting += usize::from(run.state == RunState::Scheduled);
            busy += usize::from(run.state.holds_slot());
            check(read, run_key, &run, findings)?;
        }
        if findings.len() >= FINDINGS_MAX {
            return Ok(());
        }
    }
    counted.retain(|_, load| *load != Load::default());
    if counted.into_iter().collect::<Vec<_>>() != loads::all(read)? {
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
    hours::verify(read, findings)
}

/// Goes over the runs that are attempts at nodes of workflows and have not ended.
pub(crate) fn each_attempt<R: Read>(
    read: &R,
    findings: &mut Vec<String>,
    mut see: impl FnMut(RunKey, &Run, &mut Vec<String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each(read, &RUNS, findings, |run_key, row, findings| {
        let run = Run::from(row);
        if run.workflow_id.is_none() || run.state.is_terminal() { Ok(()) } else { see(run_key, &run, findings) }
    })
}

fn check(read: &Snapshot, run_key: RunKey, run: &Run, findings: &mut Vec<String>) -> Result<(), Failure> {
    let (tenant_id, run_id) = run_key;
    let mut complain = |problem: &str| findings.push(format!("run {run_id} of tenant {tenant_id}: {problem}"));
    let is_indexed = match run.state {
        RunState::Scheduled => {
            read.contains(&WAITING, &changes::waiting_key(run_key, run))?
                && due::is_put(read, run.too_late_at(), Due::TooLate(run_key))?
        }
        state if state.holds_slot() => read.contains(&BUSY, &run_id)?,
        _ => due::is_put(read, run.old_at(), Due::Old(run_key))?,
    };
    if !is_indexed {
        complain("its index row is missing");
    }
    if !read.contains(&DESCRIPTIONS, &run_key)? {
        complain("what it is to run is missing");
    }
    let last = run.events.checked_sub(1).map(|number| (tenant_id, run_id, number));
    match last.map(|key| read.get(&EVENTS, &key)).transpose()?.flatten() {
        Some(event) if event.state == run.state => {}
        _ => complain("its last event is not that of its state"),
    }
    if !archive::is_sound(read, run_key)? {
        complain("what it wrote is not as it was archived");
    }
    Ok(())
}
