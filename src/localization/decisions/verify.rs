//! Whether the rows of decisions agree with each other; what they are about is looked at where that is.

use quintet_storage::{Failure, Read};

use super::model::SubjectKind;
use super::tables::{DECISION_EVENTS, DECISION_EVENTS_BY_AGE, DECISION_REREADS, DECISION_SUBJECTS, DECISION_WATCHES};
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    rows::each(read, &DECISION_WATCHES, |(tenant_id, kind, id), row| {
        if !read.contains(&DECISION_REREADS, &(row.due_at, tenant_id, kind, id))? {
            findings.push(format!("open decision about {id}: nobody reads it again"));
        }
        if let Some(decision_id) = &row.decision_id {
            let subject = read.get(&DECISION_SUBJECTS, decision_id)?;
            if !subject.is_some_and(|subject| subject.id == id.into_bytes() && subject.tenant_id == tenant_id) {
                findings.push(format!("open decision about {id}: it is not known to be about it"));
            }
        }
        Ok(())
    })?;
    rows::each(read, &DECISION_REREADS, |(at, tenant_id, kind, id), _| {
        let watch = read.get(&DECISION_WATCHES, &(tenant_id, kind, id))?;
        if watch.is_none_or(|watch| watch.due_at != at) {
            findings.push(format!("decision about {id}: it is read again, but not open"));
        }
        Ok(())
    })?;
    rows::each(read, &DECISION_SUBJECTS, |decision_id, row| {
        if SubjectKind::from_code(row.kind).is_none() {
            findings.push(format!("decision {decision_id:?}: it is about nothing that is known"));
        }
        Ok(())
    })?;
    let (events, by_age) = (rows::count(read, &DECISION_EVENTS)?, rows::count(read, &DECISION_EVENTS_BY_AGE)?);
    if events != by_age {
        findings.push(format!("events of decisions: there are {events}, of which {by_age} are to be forgotten"));
    }
    Ok(findings)
}
