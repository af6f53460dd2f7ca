//! Whether the units of the memory agree with what leads to them.

use quintet_storage::{Failure, Read};

use super::model::source_id;
use super::tables::{
    MEMORY_BY_PROJECT, MEMORY_PAIRS, MEMORY_SOURCES, MEMORY_UNITS, MemoryPairRow, MemorySourceRow, MemoryUnitRow,
};
use crate::model::TenantId;
use crate::rows;

/// A language pair of a tenant, as rows are known by.
type PairKey = (TenantId, String, String);

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let (mut units, mut pairs) = (0_u64, 0_u64);
    let mut counted: Option<(PairKey, MemoryPairRow)> = None;
    rows::each(read, &MEMORY_UNITS, |(tenant_id, source, target, number), row| {
        units += 1;
        let pair = (tenant_id, source, target);
        verify_unit(read, &pair, number, &row, &mut findings)?;
        match &mut counted {
            Some((last, counts)) if *last == pair => {
                *counts = MemoryPairRow { latest: number, units: counts.units + 1 };
            }
            _ => {
                pairs += 1;
                if let Some((last, counts)) = counted.replace((pair, MemoryPairRow { latest: number, units: 1 })) {
                    verify_pair(read, &last, counts, &mut findings)?;
                }
            }
        }
        Ok::<_, Failure>(())
    })?;
    if let Some((last, counts)) = counted {
        verify_pair(read, &last, counts, &mut findings)?;
    }
    let (sources, marks) = (rows::count(read, &MEMORY_SOURCES)?, rows::count(read, &MEMORY_BY_PROJECT)?);
    if (sources, marks) != (units, units) {
        findings.push(format!("{units} units of memories have {sources} sources and {marks} places in projects"));
    }
    let counters = rows::count(read, &MEMORY_PAIRS)?;
    if pairs != counters {
        findings.push(format!("units of {pairs} language pairs have {counters} counters"));
    }
    Ok(findings)
}

fn place_of((tenant_id, source, target): &PairKey) -> String {
    format!("the memory of {} from {source} into {target}", tenant_id.0)
}

fn verify_unit(
    read: &impl Read,
    pair: &PairKey,
    number: u64,
    row: &MemoryUnitRow,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let (tenant_id, source, target) = pair.clone();
    let known = read.get(&MEMORY_SOURCES, &(tenant_id, source.clone(), target.clone(), source_id(&row.source)))?;
    if known != Some(MemorySourceRow { number }) {
        findings.push(format!("{}: the source of unit {number} leads elsewhere", place_of(pair)));
    }
    if !read.contains(&MEMORY_BY_PROJECT, &(tenant_id, row.project_id, target, source, number))? {
        findings.push(format!("{}: unit {number} is not among its project's", place_of(pair)));
    }
    Ok(())
}

fn verify_pair(
    read: &impl Read,
    pair: &PairKey,
    counts: MemoryPairRow,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let row = read.get(&MEMORY_PAIRS, pair)?.unwrap_or_default();
    if row != counts {
        findings.push(format!("{}: {counts:?} is counted as {row:?}", place_of(pair)));
    }
    Ok(())
}
