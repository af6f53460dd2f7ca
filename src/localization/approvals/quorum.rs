//! How many people it takes (localization, W6).

use quintet_storage::{Failure, Read};

use super::tables::APPROVAL_REQUESTS;
use crate::accounts::settings::get_settings;
use crate::decisions::{Subject, SubjectKind};
use crate::model::TenantId;

/// How many different names the approval of legal texts takes in a tenant.
fn legal_approval_quorum(read: &impl Read, tenant_id: TenantId) -> Result<u64, Failure> {
    Ok(get_settings(read, tenant_id)?.quorum())
}

/// How many different names the approval of something takes now: of a request that holds an item of class legal, as many as
/// its tenant says, else one.
///
/// # Errors
/// Only the store's.
pub fn names_needed(read: &impl Read, subject: &Subject) -> Result<u64, Failure> {
    if subject.kind != SubjectKind::ApprovalRequest {
        return Ok(1);
    }
    let request = read.get(&APPROVAL_REQUESTS, &(subject.tenant_id, subject.id))?;
    match request {
        Some(request) if request.holds_legal => Ok(legal_approval_quorum(read, subject.tenant_id)?.max(1)),
        _ => Ok(1),
    }
}
