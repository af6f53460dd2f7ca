//! Making a request; its decision is raised afterwards.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use super::batch::Batch;
use super::model::expiry;
use super::states::RequestStatus;
use super::tables::{
    APPROVAL_CONTEXTS, APPROVAL_ITEMS, APPROVAL_REQUESTS, ApprovalContextRow, ApprovalItemsRow, ApprovalRequestRow,
    OPEN_APPROVALS, OpenApprovalRow,
};
use crate::audit::{self, Actor, Event};
use crate::content::FileId;
use crate::decisions::{Asked, Subject, SubjectKind, watch};
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// Makes a request.
#[derive(Clone, Debug)]
pub struct BeginRequest {
    /// In which project.
    pub project_id: ProjectId,
    /// Into which locale.
    pub locale: Locale,
    /// Where people look at it.
    pub review_url: Option<String>,
    /// What its first answer is remembered under.
    pub asked: Option<Asked>,
    /// Its translations.
    pub batch: Batch,
}

/// The request that is open for a file and locale: it, if it is the one that was asked for just like this and whose decision
/// is yet to be raised, for it was cut off.
///
/// # Errors
/// [`Refusal::ApprovalPending`] for another one.
pub fn find_open(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    locale: &str,
    asked: Option<&Asked>,
) -> Result<Option<Uuid>, Abort<Refusal>> {
    let Some(open) = read.get(&OPEN_APPROVALS, &(tenant_id, file_id, locale.to_owned()))? else { return Ok(None) };
    let request_id = Uuid::from_bytes(open.request_id);
    let row = read.get(&APPROVAL_REQUESTS, &(tenant_id, request_id))?;
    let row = row.ok_or_else(|| Failure::Damaged(format!("approval request {request_id} is gone")))?;
    let is_own = asked.is_some() && row.asked.as_ref() == asked;
    if is_own && row.status == RequestStatus::Submitting {
        Ok(Some(request_id))
    } else {
        Err(Refusal::ApprovalPending.into())
    }
}

/// Makes a request, whose decision is yet to be raised; its id. `None`: something has changed since its translations were
/// found.
///
/// # Errors
/// In this order: [`Refusal::ApprovalPending`], [`Refusal::NothingToApprove`].
pub fn begin_request(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: BeginRequest,
) -> Result<Option<Uuid>, Abort<Refusal>> {
    let BeginRequest { project_id, locale, review_url, asked, batch } = command;
    let tag = locale.canonical();
    let (tenant_id, file_id) = (actor.tenant_id, batch.file.file_id);
    if let Some(own) = find_open(tx, tenant_id, file_id, tag, asked.as_ref())? {
        return Ok(Some(own));
    }
    if !batch.is_current(tx, tenant_id, project_id, &locale)? {
        return Ok(None);
    }
    if batch.items.is_empty() {
        return Err(Refusal::NothingToApprove.into());
    }
    let request_id = tx.new_id();
    let place = (tenant_id, request_id);
    let row = ApprovalRequestRow {
        project_id,
        file_id,
        path: batch.file.path.clone(),
        locale: tag.to_owned(),
        file_revision: batch.revision,
        item_count: u32::try_from(batch.items.len()).unwrap_or(u32::MAX),
        holds_legal: batch.holds_legal,
        status: RequestStatus::Submitting,
        decision_id: None,
        decided_by: None,
        reason: None,
        decided_at: None,
        own_review_url: review_url,
        service_review_url: None,
        context_hash: None,
        created_by: actor.principal_id.into_bytes(),
        created_by_kind: actor.kind,
        request_id: actor.request_id.clone(),
        created_at: now,
        expires_at: expiry(now),
        asked,
    };
    let text = batch.context(row.own_review_url.as_deref());
    tx.put(&APPROVAL_CONTEXTS, &place, &ApprovalContextRow { text })?;
    tx.put(&APPROVAL_ITEMS, &place, &ApprovalItemsRow { items: batch.items })?;
    let open = OpenApprovalRow { request_id: request_id.into_bytes() };
    tx.put(&OPEN_APPROVALS, &(tenant_id, file_id, row.locale.clone()), &open)?;
    let subject = Subject { tenant_id, kind: SubjectKind::ApprovalRequest, id: request_id };
    watch(tx, now, &subject, project_id, row.expires_at)?;
    let event = Event::about("approval_request.created", "approval_request", request_id).with([
        ("project_id", Json::from(project_id.0.to_string())),
        ("file_id", Json::from(file_id.0.to_string())),
        ("locale", Json::from(row.locale.as_str())),
        ("file_revision", Json::from(row.file_revision)),
        ("count", Json::from(row.item_count)),
    ]);
    audit::record(tx, now, actor, event)?;
    tx.put(&APPROVAL_REQUESTS, &place, &row)?;
    Ok(Some(request_id))
}
