//! What lies on the desk.

use quintet_storage::{Failure, Read, Scan, Uuid};

use super::model::DeskDecision;
use super::tables::{DESK_CONTEXTS, DESK_DECISIONS, DESK_PENDING};
use crate::model::TenantId;
use crate::rows;

/// One decision.
///
/// # Errors
/// Only the store's.
pub fn get_decision(read: &impl Read, decision_id: Uuid) -> Result<Option<DeskDecision>, Failure> {
    Ok(read.get(&DESK_DECISIONS, &decision_id)?.map(|row| row.into_decision(decision_id)))
}

/// What a decision is to be taken from.
///
/// # Errors
/// Only the store's.
pub fn get_context(read: &impl Read, decision_id: Uuid) -> Result<String, Failure> {
    Ok(read.get(&DESK_CONTEXTS, &decision_id)?.map(|row| row.text).unwrap_or_default())
}

/// Every decision that waits, oldest first; with `all`, those that were taken, too.
///
/// # Errors
/// Only the store's.
pub fn list_decisions(read: &impl Read, all: bool) -> Result<Vec<DeskDecision>, Failure> {
    let mut found = Vec::new();
    if all {
        rows::each(read, &DESK_DECISIONS, |decision_id, row| {
            found.push(row.into_decision(decision_id));
            Ok(())
        })?;
    } else {
        rows::each(read, &DESK_PENDING, |decision_id, _| {
            found.extend(get_decision(read, decision_id)?);
            Ok(())
        })?;
    }
    Ok(found)
}

/// Rows that are looked at for a tenant's list: it is not to wait for what all others have on the desk.
const LOOKED_ROWS_MAX: usize = 20_000;

/// Decisions of a tenant, the newest first, at most so many: those that wait, or with `all` those that were taken, too. Of
/// a desk that has very many the newest are looked at.
///
/// # Errors
/// Only the store's.
pub fn decisions_of(
    read: &impl Read,
    tenant_id: TenantId,
    all: bool,
    limit: usize,
) -> Result<Vec<DeskDecision>, Failure> {
    let (mut found, mut looked) = (Vec::new(), 0_usize);
    let mut take = |decision: DeskDecision| {
        looked += 1;
        if decision.subject.tenant_id == tenant_id {
            found.push(decision);
        }
        found.len() < limit && looked < LOOKED_ROWS_MAX
    };
    // Ids are as old as what they name.
    let newest_first = || Scan::all().newest_first();
    if all {
        rows::each_while(read, &DESK_DECISIONS, newest_first, |id, row| Ok::<_, Failure>(take(row.into_decision(id))))?;
    } else {
        rows::each_while(read, &DESK_PENDING, newest_first, |id, _| {
            Ok::<_, Failure>(get_decision(read, id)?.is_none_or(&mut take))
        })?;
    }
    Ok(found)
}
