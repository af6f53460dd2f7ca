//! How much each tenant has going: counted with every change of state, so that nobody counts runs.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::model::{Class, Load, Run};
use super::tables::{BUSY, LOADS};
use crate::context::Context;
use crate::model::TenantId;
use crate::states::RunState;

/// What a tenant has going.
pub(crate) fn of(read: &impl Read, tenant_id: TenantId) -> Result<Load, Failure> {
    Ok(read.get(&LOADS, &tenant_id)?.unwrap_or_default().into())
}

/// What every tenant has going that has anything.
pub(super) fn all(read: &impl Read) -> Result<Vec<(TenantId, Load)>, Failure> {
    Ok(read.scan(&LOADS, Scan::all())?.into_iter().map(|(tenant_id, row)| (tenant_id, row.into())).collect())
}

/// How many runs of all tenants hold a slot: no more than there are slots.
pub(crate) fn busy(read: &impl Read) -> Result<u64, Failure> {
    Ok(u64::try_from(read.scan(&BUSY, Scan::all())?.len()).unwrap_or(u64::MAX))
}

impl Context {
    /// How many containers hold a slot now, and how many slots there are.
    ///
    /// # Errors
    /// What the store answers.
    pub fn workers(&self) -> Result<(u64, u32), Failure> {
        Ok((busy(&self.store.read())?, self.settings.workers))
    }
}

/// One run more, or one less, in the state that it has. The row of a tenant that has nothing going is not kept: the
/// dispatcher looks at all of them.
pub(super) fn count(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    run: &Run,
    step: impl FnOnce(&mut u64),
) -> Result<(), Failure> {
    if run.state.is_terminal() {
        return Ok(());
    }
    let mut load = of(tx, tenant_id)?;
    match (run.state, run.class) {
        (RunState::Scheduled, Class::Ordinary) => step(&mut load.waiting),
        (RunState::Scheduled, Class::Deferred) => step(&mut load.deferred),
        _ => step(&mut load.busy),
    }
    if load == Load::default() {
        tx.delete(&LOADS, &tenant_id);
        return Ok(());
    }
    tx.put(&LOADS, &tenant_id, &load.into())
}
