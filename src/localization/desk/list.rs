//! What lies on the desk.

use quintet_storage::{Failure, Read, Uuid};

use super::model::DeskDecision;
use super::tables::{DESK_CONTEXTS, DESK_DECISIONS, DESK_PENDING};
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
