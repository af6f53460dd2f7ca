//! Whether the rows of the desk agree with each other.

use quintet_platform::secrets::digest;
use quintet_storage::{Failure, Read, Uuid};

use super::tables::{
    DESK_CALLS, DESK_CONTEXTS, DESK_DECISIONS, DESK_EXPIRIES, DESK_PENDING, DESK_SUBJECTS, DeskDecisionRow,
};
use crate::decisions::Status;
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut pending = 0;
    rows::each(read, &DESK_DECISIONS, |decision_id, row| {
        pending += u64::from(row.status == Status::Pending);
        let faults = faults(read, decision_id, &row)?;
        findings.extend(faults.into_iter().map(|fault| format!("desk decision {decision_id}: {fault}")));
        Ok(())
    })?;
    for (what, count) in [("wait", rows::count(read, &DESK_PENDING)?), ("expire", rows::count(read, &DESK_EXPIRIES)?)] {
        if count != pending {
            findings.push(format!("desk: {pending} decisions are pending, and {count} are known to {what}"));
        }
    }
    rows::each(read, &DESK_SUBJECTS, |subject_id, row| {
        let decision = read.get(&DESK_DECISIONS, &Uuid::from_bytes(row.decision_id))?;
        if decision.is_none_or(|decision| decision.subject_id != subject_id.into_bytes()) {
            findings.push(format!("desk: the decision about {subject_id} is not about it"));
        }
        Ok(())
    })?;
    rows::each(read, &DESK_CALLS, |(_, decision_id), _| {
        let decision = read.get(&DESK_DECISIONS, &decision_id)?;
        if decision.is_none_or(|decision| decision.event_id.is_none()) {
            findings.push(format!("desk decision {decision_id}: it is told of, but not taken"));
        }
        Ok(())
    })?;
    Ok(findings)
}

fn faults(read: &impl Read, decision_id: Uuid, row: &DeskDecisionRow) -> Result<Vec<&'static str>, Failure> {
    let mut faults = Vec::new();
    let is_pending = row.status == Status::Pending;
    if read.contains(&DESK_PENDING, &decision_id)? != is_pending {
        faults.push("its status and whether it waits are two things");
    }
    if read.contains(&DESK_EXPIRIES, &(row.expires_at, decision_id))? != is_pending {
        faults.push("its status and whether its time runs are two things");
    }
    if row.event_id.is_some() == is_pending || row.decided_at.is_some() == is_pending {
        faults.push("its status and whether it was taken are two things");
    }
    let context = read.get(&DESK_CONTEXTS, &decision_id)?;
    if context.is_none_or(|context| digest(context.text.as_bytes()) != row.context_sha256) {
        faults.push("its context is not what was raised");
    }
    let subject = read.get(&DESK_SUBJECTS, &Uuid::from_bytes(row.subject_id))?;
    if subject.is_none_or(|subject| subject.decision_id != decision_id.into_bytes()) {
        faults.push("its subject does not know it");
    }
    Ok(faults)
}
