//! How many people it takes (localization, W6).

use quintet_storage::{Failure, Read, Uuid};

use super::tables::{APPROVAL_ITEMS, APPROVAL_REQUESTS};
use crate::accounts::settings::get_settings;
use crate::content::{KeyClass, find_context};
use crate::decisions::{Subject, SubjectKind};
use crate::model::TenantId;
use crate::shelf::Shelf;

/// How many different names the approval of legal texts takes in a tenant.
fn legal_approval_quorum(read: &impl Read, tenant_id: TenantId) -> Result<u64, Failure> {
    Ok(get_settings(read, tenant_id)?.quorum())
}

/// How many different names the approval of something takes now: of a request that holds an item of class legal, as many as
/// its tenant says, else one. Legal is what was so when it was asked for, and what has become so.
///
/// # Errors
/// Only the store's.
pub fn names_needed(read: &impl Read, shelf: &Shelf, subject: &Subject) -> Result<u64, Failure> {
    if subject.kind != SubjectKind::ApprovalRequest {
        return Ok(1);
    }
    let place = (subject.tenant_id, subject.id);
    let Some(request) = read.get(&APPROVAL_REQUESTS, &place)? else { return Ok(1) };
    let quorum = legal_approval_quorum(read, subject.tenant_id)?.max(1);
    if quorum == 1 || request.holds_legal {
        return Ok(quorum);
    }
    for item in read.get(&APPROVAL_ITEMS, &place)?.map(|row| row.items).unwrap_or_default() {
        let context = find_context(read, shelf, subject.tenant_id, request.file_id, &item.key)?;
        if context.and_then(|context| context.class) == Some(KeyClass::Legal) {
            return Ok(quorum);
        }
    }
    Ok(1)
}

/// Who asked for an approval.
///
/// # Errors
/// Only the store's.
pub fn request_asked_by(read: &impl Read, tenant_id: TenantId, request_id: Uuid) -> Result<Option<Uuid>, Failure> {
    Ok(read.get(&APPROVAL_REQUESTS, &(tenant_id, request_id))?.map(|row| Uuid::from_bytes(row.created_by)))
}
