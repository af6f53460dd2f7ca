//! How much each tenant has going: counted with every change of state, so that nobody counts runs.

use std::collections::HashMap;

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::model::{Class, Load, Run};
use super::tables::{BUSY, LOADS};
use crate::aside::Aside;
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

/// How many workers each tenant holds: as many as it has runs with a slot that are not aside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(HashMap<TenantId, u64>);

impl Held {
    /// Those of all tenants together: no more than there are workers.
    pub(crate) fn all(&self) -> u64 {
        self.0.values().sum()
    }

    /// A tenant's.
    pub(super) fn of(&self, tenant_id: TenantId) -> u64 {
        self.0.get(&tenant_id).copied().unwrap_or(0)
    }
}

/// Who holds the workers.
pub(crate) fn held(read: &impl Read, aside: &Aside) -> Result<Held, Failure> {
    let mut held = Held::default();
    for (_, row) in aside.with_worker(read.scan(&BUSY, Scan::all())?) {
        *held.0.entry(row.tenant_id).or_default() += 1;
    }
    Ok(held)
}

impl Context {
    /// How many runs hold a worker now, and how many workers there are.
    ///
    /// # Errors
    /// What the store answers.
    pub fn workers(&self) -> Result<(u64, u32), Failure> {
        Ok((held(&self.store.read(), &self.aside)?.all(), self.settings.workers))
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
