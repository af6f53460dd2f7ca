//! Metered keys: what their runs are charged, and what they get back.
//!
//! A metered key has so many seconds for its whole life. A run is charged its `timeout_seconds` in the transaction that
//! accepts it. The charge is a row that exists exactly while the run has not ended: the transaction that ends the run,
//! or deletes it before it has started, takes the row away and counts what the run has used. So nothing is charged or
//! given back twice, whenever the appliance is killed.

use std::collections::BTreeMap;

use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::model::{KeyTerms, Meter};
use super::tables::{CHARGES, ChargeRow, METERS};
use crate::model::RunKey;
use crate::refusal::Refusal;

/// What runs of a key have used, and were charged so far.
pub(crate) fn meter(read: &impl Read, key_id: &str) -> Result<Meter, Failure> {
    Ok(read.get(&METERS, &key_id.to_owned())?.unwrap_or_default().into())
}

/// Charges a run that is about to be accepted, if the key is metered.
pub(crate) fn charge(
    tx: &mut WriteTx<'_>,
    run_key: RunKey,
    key_id: &str,
    terms: &KeyTerms,
    seconds: u64,
) -> Result<(), Abort<Refusal>> {
    let Some(metered_seconds) = terms.metered_seconds else { return Ok(()) };
    let meter = meter(tx, key_id)?;
    let left = metered_seconds.saturating_sub(meter.spent_seconds());
    if seconds > left {
        return Err(Refusal::MeteredQuota(left, seconds).into());
    }
    let open_seconds = meter.open_seconds.saturating_add(seconds);
    tx.put(&METERS, &key_id.to_owned(), &Meter { open_seconds, ..meter }.into())?;
    tx.put(&CHARGES, &run_key, &ChargeRow { key_id: key_id.to_owned(), seconds })?;
    Ok(())
}

/// Gives back what a run that ends, or is deleted before it has started, was charged and has not used. Nothing happens
/// if it was not charged, or if that was done before.
///
/// # Errors
/// The store's failures, and those of `used_seconds`, which says what it has used.
pub(crate) fn settle(
    tx: &mut WriteTx<'_>,
    run_key: RunKey,
    used_seconds: impl FnOnce(&WriteTx<'_>) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    let Some(charge) = tx.get(&CHARGES, &run_key)? else { return Ok(()) };
    tx.delete(&CHARGES, &run_key);
    let used_seconds = used_seconds(tx)?;
    let meter = meter(tx, &charge.key_id)?;
    let settled = Meter {
        open_seconds: meter.open_seconds.saturating_sub(charge.seconds),
        used_seconds: meter.used_seconds.saturating_add(used_seconds.min(charge.seconds)),
    };
    tx.put(&METERS, &charge.key_id, &settled.into())
}

/// Finds charges of no run that waits or runs (`is_open` says which do), and meters that are not the sum of their
/// charges.
pub(crate) fn verify(
    read: &impl Read,
    is_open: impl Fn(RunKey) -> Result<bool, Failure>,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut open: BTreeMap<String, u64> = BTreeMap::new();
    for (run_key, charge) in read.scan(&CHARGES, Scan::all())? {
        if !is_open(run_key)? {
            let (tenant_id, run_id) = run_key;
            findings.push(format!("run {run_id} of tenant {tenant_id}: it is charged and has ended, or is none"));
        }
        *open.entry(charge.key_id).or_default() += charge.seconds;
    }
    for (key_id, meter) in read.scan(&METERS, Scan::all())? {
        if open.remove(&key_id).unwrap_or(0) != Meter::from(meter).open_seconds {
            findings.push(format!("key {key_id}: its meter is not the sum of what its runs were charged"));
        }
    }
    findings.extend(open.into_keys().map(|key_id| format!("key {key_id}: its runs were charged, and it has no meter")));
    Ok(())
}
