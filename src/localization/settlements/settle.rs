//! Reading a decision and settling what it is about.

use std::time::Instant;

use quintet_storage::{Abort, Timestamp, WriteTx};

use crate::context::{Context, WRITER_TIME};
use crate::decisions::{
    Reading, Status, Subject, SubjectKind, Unavailable, Watch, is_known_event, record_event, watch_of,
};
use crate::refusal::Refusal;
use crate::{approvals, licences};

/// How often settling is prepared anew because others have changed something.
const ATTEMPTS_MAX: usize = 16;

/// What came of a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It is settled.
    Settled,
    /// Its decision is not taken.
    NotYet,
}

/// Reads the decision about an open subject and settles it; `event_id` is recorded with that. What is settled already stays
/// as it is.
///
/// # Errors
/// [`Refusal::DecisionUnavailable`] if the decision cannot be read; the store's.
pub async fn settle_decision(
    context: &Context,
    subject: Subject,
    event_id: Option<String>,
) -> Result<Settlement, Abort<Refusal>> {
    // One at a time: the service is asked once for all that come at once.
    let _alone = context.lock(subject.id.as_u128()).await.map_err(|fault| Abort::Refused(fault.into()))?;
    let Some(watch) = watch_of(&context.store.read(), &subject)? else { return Ok(Settlement::Settled) };
    let Some(decision_id) = &watch.decision_id else { return Ok(Settlement::NotYet) };
    let reading = match context.decisions.service.look(decision_id).await {
        Ok(reading) => reading,
        Err(Unavailable(reason)) => {
            tracing::warn!(reason, subject = %subject.id, "a decision could not be read");
            return Err(Refusal::DecisionUnavailable.into());
        }
    };
    if reading.status == Status::Pending {
        return Ok(Settlement::NotYet);
    }
    settle_by(context, &watch, reading, event_id).await
}

/// Settles an open subject by a decision.
///
/// # Errors
/// The store's, and that others keep it waiting.
pub async fn settle_by(
    context: &Context,
    watch: &Watch,
    reading: Reading,
    event_id: Option<String>,
) -> Result<Settlement, Abort<Refusal>> {
    for _ in 0..ATTEMPTS_MAX {
        let (subject, project_id, event_id) = (watch.subject, watch.project_id, event_id.clone());
        let (shared, reading) = (context.clone(), reading.clone());
        let is_settled = match subject.kind {
            SubjectKind::ApprovalRequest => {
                let prepared = context.in_turn(subject.tenant_id, move |store| {
                    let read = store.read();
                    approvals::Settle::new(&read, &shared.shelf, subject.tenant_id, subject.id, reading)
                });
                let command = prepared.await?;
                let verb = move |tx: &mut WriteTx<'_>, now| {
                    let settled = approvals::settle(tx, now, command)?;
                    note(tx, now, event_id, matches!(settled, approvals::Settled::Now(_)))?;
                    Ok::<_, Abort<Refusal>>(match settled {
                        approvals::Settled::Now(_) | approvals::Settled::Before => Some(Settlement::Settled),
                        approvals::Settled::NotYet => Some(Settlement::NotYet),
                        approvals::Settled::Again => None,
                    })
                };
                context.store.write(Instant::now() + WRITER_TIME, verb).await?
            }
            SubjectKind::Licence => {
                let prepared = context.in_turn(subject.tenant_id, move |store| {
                    licences::Settle::new(&store.read(), subject.tenant_id, project_id, subject.id, reading)
                });
                let command = prepared.await?;
                let verb = move |tx: &mut WriteTx<'_>, now| {
                    let settled = licences::settle(tx, now, command)?;
                    note(tx, now, event_id, matches!(settled, licences::Settled::Now(_)))?;
                    Ok::<_, Abort<Refusal>>(match settled {
                        licences::Settled::Now(_) | licences::Settled::Before => Some(Settlement::Settled),
                        licences::Settled::NotYet => Some(Settlement::NotYet),
                        licences::Settled::Again => None,
                    })
                };
                context.store.write(Instant::now() + WRITER_TIME, verb).await?
            }
        };
        if let Some(settlement) = is_settled {
            return Ok(settlement);
        }
    }
    Err(Refusal::Fault(quintet_platform::service::Fault::Busy).into())
}

/// Records the event by which something was settled.
fn note(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    event_id: Option<String>,
    is_settled_now: bool,
) -> Result<(), Abort<Refusal>> {
    match event_id {
        Some(event_id) if is_settled_now && !is_known_event(tx, &event_id)? => Ok(record_event(tx, now, &event_id)?),
        _ => Ok(()),
    }
}
