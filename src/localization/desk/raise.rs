//! Putting a decision on the desk.

use quintet_platform::json::to_canonical;
use quintet_platform::secrets::digest;
use quintet_storage::{Failure, Read as _, Timestamp, Uuid, WriteTx};

use super::model::DeskDecision;
use super::tables::{
    DESK_CONTEXTS, DESK_DECISIONS, DESK_EXPIRIES, DESK_PENDING, DESK_SUBJECTS, DeskContextRow, DeskDecisionRow,
    DeskMarkRow, DeskSubjectRow,
};
use crate::decisions::{Raise, Status};

/// Puts a decision on the desk.
#[derive(Clone, Debug)]
pub struct RaiseHere(pub Raise);

/// Puts a decision on the desk, or finds the one that its subject has.
///
/// # Errors
/// Only the store's.
pub fn raise(tx: &mut WriteTx<'_>, now: Timestamp, RaiseHere(raise): RaiseHere) -> Result<DeskDecision, Failure> {
    let subject_id = raise.subject.id;
    if let Some(known) = tx.get(&DESK_SUBJECTS, &subject_id)? {
        let decision_id = Uuid::from_bytes(known.decision_id);
        let row = tx.get(&DESK_DECISIONS, &decision_id)?;
        let row = row.ok_or_else(|| Failure::Damaged(format!("desk decision {decision_id} is gone")))?;
        return Ok(row.into_decision(decision_id));
    }
    let decision_id = tx.new_id();
    let row = DeskDecisionRow {
        tenant_id: raise.subject.tenant_id,
        kind: raise.subject.kind,
        subject_id: subject_id.into_bytes(),
        policy: raise.policy,
        action: to_canonical(&raise.action),
        context_sha256: digest(raise.context.as_bytes()),
        status: Status::Pending,
        created_at: now,
        expires_at: raise.expires_at,
        approvals: Vec::new(),
        decided_by: None,
        reason: None,
        decided_at: None,
        event_id: None,
    };
    tx.put(&DESK_DECISIONS, &decision_id, &row)?;
    tx.put(&DESK_CONTEXTS, &decision_id, &DeskContextRow { text: raise.context })?;
    tx.put(&DESK_SUBJECTS, &subject_id, &DeskSubjectRow { decision_id: decision_id.into_bytes() })?;
    tx.put(&DESK_PENDING, &decision_id, &DeskMarkRow)?;
    tx.put(&DESK_EXPIRIES, &(row.expires_at, decision_id), &DeskMarkRow)?;
    tx.falls_due(DESK_EXPIRIES.spec().tag, row.expires_at);
    Ok(row.into_decision(decision_id))
}
