//! Raising the decision of a request, and what comes of it: it is pending, or it has failed. A request that a crash left
//! submitting is submitted again under its id (localization, W4).

use std::time::Instant;

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read as _, Timestamp, Uuid, WriteTx};

use super::request::{ApprovalRequest, get_request};
use super::states::Happening;
use super::tables::{APPROVAL_CONTEXTS, APPROVAL_REQUESTS, OPEN_APPROVALS};
use super::tell::tell_settled;
use super::view::write_request;
use crate::audit::{self, Actor, Event};
use crate::context::{Context, WRITER_TIME};
use crate::decisions::{Raised, Unavailable, assign, is_assigned, remember_made, unwatch};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// Raises the decision of a request that is submitting.
///
/// # Errors
/// [`Refusal::DecisionUnavailable`], and the request is as it was; the store's.
pub async fn submit(context: &Context, tenant_id: TenantId, id: Uuid) -> Result<ApprovalRequest, Abort<Refusal>> {
    let read = context.store.read();
    let request = get_request(&read, tenant_id, id)?;
    if request.status().after(Happening::Accepted).is_none() {
        return Ok(request);
    }
    let text = read.get(&APPROVAL_CONTEXTS, &(tenant_id, id))?.map(|row| row.text);
    let text = text.ok_or_else(|| Failure::Damaged(format!("approval request {id} lacks its context")))?;
    drop(read);
    let raised = match context.decisions.service.raise(request.raise(&context.decisions.policy, text)).await {
        Ok(raised) => raised,
        Err(Unavailable(reason)) => {
            tracing::warn!(reason, request = %id, "no decision could be raised");
            return Err(Refusal::DecisionUnavailable.into());
        }
    };
    let deadline = Instant::now() + WRITER_TIME;
    context.store.write(deadline, move |tx, now| accept(tx, now, tenant_id, id, raised)).await
}

/// A request's decision was taken on. The answer is remembered with it: whoever made the request may be gone.
///
/// # Errors
/// [`Refusal::DecisionUnavailable`] if the service gave it the decision of something else.
pub fn accept(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    id: Uuid,
    raised: Raised,
) -> Result<ApprovalRequest, Abort<Refusal>> {
    let mut request = get_request(tx, tenant_id, id)?;
    let Some(status) = request.status().after(Happening::Accepted) else { return Ok(request) };
    if is_assigned(tx, &raised.decision_id)? {
        return Err(Refusal::DecisionUnavailable.into());
    }
    assign(tx, now, &request.subject, &raised.decision_id)?;
    let row = &mut request.row;
    row.status = status;
    row.decision_id = Some(raised.decision_id);
    row.context_hash = raised.context_hash;
    row.service_review_url = raised.review_url;
    let asked = row.asked.take();
    tx.put(&APPROVAL_REQUESTS, &(tenant_id, id), row)?;
    let actor = Actor {
        tenant_id,
        kind: row.created_by_kind,
        principal_id: Uuid::from_bytes(row.created_by),
        request_id: row.request_id.clone(),
        uid: None,
    };
    let event = Event::about("approval_request.submitted", "approval_request", id).with([
        ("project_id", Json::from(row.project_id.0.to_string())),
        ("decision_id", Json::from(row.decision_id.as_deref())),
    ]);
    audit::record(tx, now, &actor, event)?;
    if let Some(asked) = asked {
        remember_made(tx, now, tenant_id, asked, write_request(&request)?)?;
    }
    Ok(request)
}

/// A request's decision could not be raised.
///
/// # Errors
/// Only the store's.
pub fn fail(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: TenantId, id: Uuid) -> Result<(), Abort<Refusal>> {
    let mut request = get_request(tx, tenant_id, id)?;
    let Some(status) = request.status().after(Happening::Unavailable) else { return Ok(()) };
    unwatch(tx, &request.subject)?;
    let row = &mut request.row;
    row.status = status;
    row.asked = None;
    tx.put(&APPROVAL_REQUESTS, &(tenant_id, id), row)?;
    tx.delete(&OPEN_APPROVALS, &(tenant_id, row.file_id, row.locale.clone()));
    let event = Event::about("approval_request.settled", "approval_request", id).with([
        ("project_id", Json::from(row.project_id.0.to_string())),
        ("status", Json::from(status.name())),
        ("decision_id", Json::Null),
    ]);
    let actor = Actor::operator(tenant_id);
    audit::record(tx, now, &actor, event)?;
    // Nothing was decided of its items.
    tell_settled(tx, now, &actor, &request, &[])?;
    Ok(())
}

/// Submits a request again that a crash left behind. If its time is over, it has failed; else it is tried again later.
///
/// # Errors
/// [`Refusal::DecisionUnavailable`] if it is to be tried again; the store's.
pub async fn submit_again(
    context: &Context,
    tenant_id: TenantId,
    id: Uuid,
    is_over: bool,
) -> Result<(), Abort<Refusal>> {
    match submit(context, tenant_id, id).await {
        Ok(_) => Ok(()),
        Err(Abort::Refused(Refusal::DecisionUnavailable)) if is_over => {
            let deadline = Instant::now() + WRITER_TIME;
            context.store.write(deadline, move |tx, now| fail(tx, now, tenant_id, id)).await
        }
        Err(abort) => Err(abort),
    }
}
