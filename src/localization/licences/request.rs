//! Asking for a licence with a sample (localization, P1 and P2).

use std::time::Instant;

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use super::lapse::{active_licence, get_licence, lapse};
use super::model::{Licence, Sample, write_licence};
use super::states::{Happening, LapseReason, LicenceState};
use super::tables::{LICENCE_HEADS, LICENCES, LicenceRow};
use crate::audit::{self, Actor, Event};
use crate::context::{Context, WRITER_TIME};
use crate::decisions::{
    Asked, DECISION_SECONDS, Raised, Subject, SubjectKind, Unavailable, assign, is_assigned, remember_made, unwatch,
    watch,
};
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// Asks for a licence.
#[derive(Clone, Debug)]
pub struct RequestLicence {
    /// In which project.
    pub project_id: ProjectId,
    /// The canonical tag of the locale.
    pub locale: String,
    /// What somebody has read.
    pub sample: Sample,
    /// What the first answer is remembered under.
    pub asked: Option<Asked>,
    /// How many prose keys there are.
    pub prose_keys: u64,
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The sample has failed, and that is recorded.
    SampleFailed(Uuid, Box<LicenceRow>),
    /// The decision about this licence is yet to be raised.
    Submitting(Uuid),
}

/// The licence that waits in a locale: it, if it is the one that was asked for just like this and whose decision is yet to be
/// raised, for it was cut off.
fn find_waiting(
    read: &impl Read,
    tenant_id: TenantId,
    command: &RequestLicence,
) -> Result<Option<Uuid>, Abort<Refusal>> {
    let head = read.get(&LICENCE_HEADS, &(tenant_id, command.project_id, command.locale.clone()))?;
    let Some(id) = head.and_then(|head| head.requested).map(Uuid::from_bytes) else { return Ok(None) };
    let licence = get_licence(read, tenant_id, command.project_id, id)?;
    let licence = licence.ok_or_else(|| Failure::Damaged(format!("licence {id} is gone")))?;
    let is_own = command.asked.is_some() && licence.row.asked == command.asked;
    if is_own && licence.row.state == LicenceState::Submitting {
        Ok(Some(id))
    } else {
        Err(Refusal::LicencePending.into())
    }
}

/// Records a sample: one that fails ends the licence there is; for one that passes a decision is yet to be raised.
///
/// # Errors
/// [`Refusal::LicencePending`]
pub fn request_licence(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: RequestLicence,
) -> Result<Requested, Abort<Refusal>> {
    let passes = command.sample.passes();
    let tenant_id = actor.tenant_id;
    if passes && let Some(own) = find_waiting(tx, tenant_id, &command)? {
        return Ok(Requested::Submitting(own));
    }
    let RequestLicence { project_id, locale, sample, asked, prose_keys } = command;
    let id = tx.new_id();
    let row = LicenceRow {
        locale,
        state: if passes { LicenceState::Submitting } else { LicenceState::SampleFailed },
        sample_size: sample.size,
        corrections: sample.corrections,
        meaning_errors: sample.meaning_errors,
        sample_ref: sample.reference,
        decision_id: None,
        decided_by: None,
        decided_at: None,
        decided_seq: None,
        lapsed_at: None,
        lapse_reason: None,
        prose_keys,
        prose_changed: 0,
        expires_at: None,
        created_at: now,
        decide_until: now.plus_seconds(DECISION_SECONDS),
        created_by: actor.principal_id.into_bytes(),
        created_by_kind: actor.kind,
        request_id: actor.request_id.clone(),
        asked: asked.clone().filter(|_| passes),
    };
    tx.put(&LICENCES, &(tenant_id, project_id, id), &row)?;
    if passes {
        let place = (tenant_id, project_id, row.locale.clone());
        let mut head = tx.get(&LICENCE_HEADS, &place)?.unwrap_or_default();
        head.requested = Some(id.into_bytes());
        tx.put(&LICENCE_HEADS, &place, &head)?;
        let subject = Subject { tenant_id, kind: SubjectKind::Licence, id };
        watch(tx, now, &subject, project_id, row.decide_until)?;
        return Ok(Requested::Submitting(id));
    }
    audit::record(tx, now, actor, told("licence.sample_failed", project_id, id, &row))?;
    if let Some(active) = active_licence(tx, tenant_id, project_id, &row.locale)? {
        lapse(tx, now, actor, active, LapseReason::SampleFailed)?;
    }
    if let Some(asked) = asked {
        remember_made(tx, now, tenant_id, asked, write_licence(id, &row)?)?;
    }
    Ok(Requested::SampleFailed(id, Box::new(row)))
}

/// What the audit chain is told of a licence.
pub fn told(action: &'static str, project_id: ProjectId, id: Uuid, row: &LicenceRow) -> Event {
    Event::about(action, "licence", id).with([
        ("project_id", Json::from(project_id.0.to_string())),
        ("locale", Json::from(row.locale.as_str())),
        ("sample_size", Json::from(row.sample_size)),
        ("corrections", Json::from(row.corrections)),
        ("meaning_errors", Json::from(row.meaning_errors)),
        ("decision_id", Json::from(row.decision_id.as_deref())),
    ])
}

/// Raises the decision of a licence that is submitting.
///
/// # Errors
/// [`Refusal::DecisionUnavailable`], and the licence is as it was; the store's.
pub async fn submit(
    context: &Context,
    tenant_id: TenantId,
    project_id: ProjectId,
    id: Uuid,
) -> Result<Licence, Abort<Refusal>> {
    let licence = get_licence(&context.store.read(), tenant_id, project_id, id)?.ok_or(Refusal::NotFound)?;
    if licence.row.state.after(Happening::Accepted).is_none() {
        return Ok(licence);
    }
    let raised = match context.decisions.service.raise(licence.raise(&context.decisions.policy)).await {
        Ok(raised) => raised,
        Err(Unavailable(reason)) => {
            tracing::warn!(reason, licence = %id, "no decision could be raised");
            return Err(Refusal::DecisionUnavailable.into());
        }
    };
    let deadline = Instant::now() + WRITER_TIME;
    context.store.write(deadline, move |tx, now| accept(tx, now, tenant_id, project_id, id, raised)).await
}

/// A licence's decision was taken on.
fn accept(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    project_id: ProjectId,
    id: Uuid,
    raised: Raised,
) -> Result<Licence, Abort<Refusal>> {
    let mut licence = get_licence(tx, tenant_id, project_id, id)?.ok_or(Refusal::NotFound)?;
    let Some(state) = licence.row.state.after(Happening::Accepted) else { return Ok(licence) };
    if is_assigned(tx, &raised.decision_id)? {
        return Err(Refusal::DecisionUnavailable.into());
    }
    assign(tx, now, &licence.subject, &raised.decision_id)?;
    let row = &mut licence.row;
    row.state = state;
    row.decision_id = Some(raised.decision_id);
    let asked = row.asked.take();
    tx.put(&LICENCES, &(tenant_id, project_id, id), row)?;
    let actor = Actor {
        tenant_id,
        kind: row.created_by_kind,
        principal_id: Uuid::from_bytes(row.created_by),
        request_id: row.request_id.clone(),
        uid: None,
    };
    audit::record(tx, now, &actor, told("licence.requested", project_id, id, row))?;
    if let Some(asked) = asked {
        remember_made(tx, now, tenant_id, asked, write_licence(id, row)?)?;
    }
    Ok(licence)
}

/// A licence's decision could not be raised: nothing is left of it (localization, P1).
///
/// # Errors
/// Only the store's.
pub fn withdraw(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    project_id: ProjectId,
    id: Uuid,
) -> Result<(), Abort<Refusal>> {
    let Some(licence) = get_licence(tx, tenant_id, project_id, id)? else { return Ok(()) };
    if licence.row.state != LicenceState::Submitting {
        return Ok(());
    }
    unwatch(tx, &licence.subject)?;
    tx.delete(&LICENCES, &(tenant_id, project_id, id));
    let place = (tenant_id, project_id, licence.row.locale);
    let mut head = tx.get(&LICENCE_HEADS, &place)?.unwrap_or_default();
    head.requested = None;
    tx.put(&LICENCE_HEADS, &place, &head)?;
    Ok(())
}

/// Submits a licence again that a crash left behind. If its time is over, nothing is left of it; else it is tried again
/// later.
///
/// # Errors
/// [`Refusal::DecisionUnavailable`] if it is to be tried again; the store's.
pub async fn submit_again(
    context: &Context,
    tenant_id: TenantId,
    project_id: ProjectId,
    id: Uuid,
    is_over: bool,
) -> Result<(), Abort<Refusal>> {
    match submit(context, tenant_id, project_id, id).await {
        Ok(_) => Ok(()),
        Err(Abort::Refused(Refusal::DecisionUnavailable)) if is_over => {
            let deadline = Instant::now() + WRITER_TIME;
            context.store.write(deadline, move |tx, _| withdraw(tx, tenant_id, project_id, id)).await
        }
        Err(abort) => Err(abort),
    }
}

/// Who asked for a licence.
///
/// # Errors
/// Only the store's.
pub fn licence_asked_by(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    licence_id: Uuid,
) -> Result<Option<Uuid>, Failure> {
    Ok(read.get(&LICENCES, &(tenant_id, project_id, licence_id))?.map(|row| Uuid::from_bytes(row.created_by)))
}
