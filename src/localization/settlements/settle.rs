//! Reading a decision and settling what it is about.

use std::time::Instant;

use quintet_storage::{Abort, Timestamp, WriteTx};

use crate::context::{Context, WRITER_TIME};
use crate::decisions::{
    Reading, Settled, Status, Subject, SubjectKind, Unavailable, Watch, is_known_event, record_event, watch_of,
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
    let _alone = context.locks.lock(subject.id.as_u128()).await.map_err(|fault| Abort::Refused(fault.into()))?;
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
    settle_by(context, &watch, in_time(reading, watch.expires_at, context.clock.now()), event_id).await
}

/// What a decision is that may have been taken too late: then nobody took it in time. One that another system's clock says
/// will be taken was taken now.
fn in_time(reading: Reading, expires_at: Timestamp, now: Timestamp) -> Reading {
    let reading = Reading { decided_at: reading.decided_at.map(|at| at.min(now)), ..reading };
    let is_late = reading.decided_at.is_some_and(|at| at > expires_at);
    match reading.status {
        Status::Approved | Status::Rejected | Status::ChangesRequested if is_late => {
            Reading { status: Status::TimedOut, decided_by: None, reason: None, ..reading }
        }
        _ => reading,
    }
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
        let settled = match subject.kind {
            SubjectKind::ApprovalRequest => {
                let prepared = context.aside(subject.tenant_id, move |read| {
                    approvals::Settle::new(read, &shared.shelf, subject.tenant_id, subject.id, reading)
                });
                let command = prepared.await?;
                write(context, event_id, move |tx, now| approvals::settle(tx, now, command)).await?
            }
            SubjectKind::Licence => {
                let Subject { tenant_id, id, .. } = subject;
                let command = licences::Settle { tenant_id, project_id, id, reading };
                write(context, event_id, move |tx, now| licences::settle(tx, now, command)).await?
            }
        };
        match settled {
            Settled::Now | Settled::Before => return Ok(Settlement::Settled),
            Settled::NotYet => return Ok(Settlement::NotYet),
            Settled::Again => {}
        }
    }
    Err(Refusal::Fault(quintet_platform::service::Fault::Busy).into())
}

/// The transaction that settles, and records the event by which something was settled.
async fn write(
    context: &Context,
    event_id: Option<String>,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Settled, Abort<Refusal>> + Send + 'static,
) -> Result<Settled, Abort<Refusal>> {
    let work = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let settled = verb(tx, now)?;
        if let (Settled::Now, Some(event_id)) = (settled, event_id)
            && !is_known_event(tx, &event_id)?
        {
            record_event(tx, now, &event_id)?;
        }
        Ok(settled)
    };
    context.store.write(Instant::now() + WRITER_TIME, work).await
}
