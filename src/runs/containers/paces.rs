//! How long a tenant's runs hold a slot, for estimates.

use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::model::Run;
use super::tables::{PACES, PaceRow};
use crate::model::TenantId;

/// How much of the mean the latest run is: one part in so many.
const PARTS: u64 = 8;

/// Notes how long a run has held its slot that gives it back now.
pub(super) fn note(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId, run: &Run) -> Result<(), Failure> {
    let held = run.queued_at.map_or(0, |since| now.as_micros().saturating_sub(since.as_micros()));
    let held = u64::try_from(held).unwrap_or(0);
    let slot_micros = match tx.get(&PACES, &tenant_id)? {
        None => held,
        Some(PaceRow { slot_micros: mean }) => mean - mean / PARTS + held / PARTS,
    };
    tx.put(&PACES, &tenant_id, &PaceRow { slot_micros })
}

/// The mean of those that have ended, in microseconds; none before any has.
pub(super) fn slot_micros(read: &impl Read, tenant_id: TenantId) -> Result<Option<u64>, Failure> {
    Ok(read.get(&PACES, &tenant_id)?.map(|row| row.slot_micros))
}
