//! How many alarms a tenant has that count against its limits.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, WriteTx};

use super::model::Counts;
use super::tables::{COUNTS, CountsRow};
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
